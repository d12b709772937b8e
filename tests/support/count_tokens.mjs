// Counts tokens of o200k: reads a JSON list of texts, writes the list of their counts.
import { readFileSync } from "node:fs";
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";

const encoder = new Tiktoken(ranks);
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => encoder.encode(text).length)));
