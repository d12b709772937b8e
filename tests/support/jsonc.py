"""JSON with comments, read independently of the addon, and random documents of it."""
import json
import random


class Broken(ValueError):
    pass


def plain(text):
    """The text with spaces for comments and for commas behind the last member."""
    out, i, before = [], 0, "{"
    comma = None  # where in `out` the last token is, if it is a comma behind a value
    while i < len(text):
        end = i + 1
        if text[i] == '"':
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end += 1
        elif text.startswith("//", i):
            while end < len(text) and text[end] != "\n":
                end += 1
        elif text.startswith("/*", i):
            end = text.find("*/", i + 2) + 2
            if end < 2:
                raise Broken("a comment has no end")
        if text[i] == "/" and end > i + 1:
            out.append(" " * (end - i))
        else:
            if text[i] in "]}" and comma:
                out[comma] = " "
            if text[i] == ",":
                comma = len(out) if before not in "{[,:" else None
            elif not text[i].isspace():
                comma = None
            before = before if text[i].isspace() else text[i]
            out.append(text[i:end])
        i = end
    return "".join(out)


def loads(data):
    """The values of a document in bytes. One without any value is an empty object."""
    try:
        text = plain(data.decode("utf-8-sig"))
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Broken(str(error)) from None


def value_span(data, key):
    """From where to where in a document the value of its last member of this name is."""
    text = data.decode()
    blank = plain(text)
    at = blank.rindex(json.dumps(key)) + len(json.dumps(key))
    start = blank.index(":", at) + 1
    while blank[start].isspace():
        start += 1
    end = json.JSONDecoder().raw_decode(blank, start)[1]
    return len(text[:start].encode()), len(text[:end].encode())


# ---- random documents ----------------------------------------------------------------------------

TEXTS = ["", "a", "key with space", "ü€𝄞", "back\\slash", 'quo"te', "// no comment", "/* nor this */", "tab\t",
         "line\nbreak", "}", "]", ",", "godot", "Godot-tether", "mcpServers", "a,b", "\u2028"]


class Writer:
    """Writes values as a person might: with spaces, comments and line ends anywhere."""

    def __init__(self, rng):
        self.rng = rng
        self.newline = rng.choice(["\n", "\n", "\r\n"])
        self.unit = rng.choice(["  ", "    ", "\t"])
        self.style = rng.choice(["tidy", "tidy", "wild", "dense"])
        self.comments = rng.random() < 0.6 and self.style != "dense"
        self.commas = rng.random() < 0.4

    def gap(self, indent=None):
        if self.style == "dense":
            return ""
        if self.style == "tidy":
            out = "" if indent is None else self.newline + self.unit * indent
            if indent is not None and self.comments and self.rng.random() < 0.2:
                out = self.newline + self.unit * indent + "// a comment, \"with\" {signs}" + out
            return out
        out = ""
        while self.rng.random() < 0.5:
            out += self.rng.choice([" ", "\t", self.newline])
            if self.comments and self.rng.random() < 0.3:
                out += self.rng.choice(["/* **/", "/*" + self.newline + "*/", "// end, of line }" + self.newline])
        return out

    def text(self, value):
        return json.dumps(value, ensure_ascii=self.rng.random() < 0.5)

    def items(self, brackets, items, depth):
        if not items:
            return brackets[0] + (self.gap() if self.style == "wild" else "") + brackets[1]
        out = brackets[0]
        for index, item in enumerate(items):
            out += self.gap(depth + 1) + item + (self.gap() if self.style == "wild" else "")
            last = index == len(items) - 1
            if not last or self.commas:
                out += ","
                if self.comments and self.style == "tidy" and self.rng.random() < 0.2:
                    out += " // behind " + str(index)
        return out + self.gap(depth) + brackets[1]

    def value(self, value, depth=0):
        if isinstance(value, dict):
            between = ": " if self.style == "tidy" else ":"
            return self.items("{}", [self.text(k) + between + self.value(v, depth + 1) for k, v in value.items()],
                              depth)
        if isinstance(value, list):
            return self.items("[]", [self.value(v, depth + 1) for v in value], depth)
        return self.text(value)

    def document(self, value):
        out = self.gap() + self.value(value) + self.gap()
        if self.style != "dense":
            out += self.newline
        return out.encode()


def random_value(rng, depth=0):
    kind = rng.random()
    if depth < 4 and kind < 0.25:
        return {rng.choice(TEXTS): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    if depth < 4 and kind < 0.4:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return rng.choice([True, False, None, 0, -1, 30000, 1.5, -2.5e-3, 1e20, *TEXTS])


def random_document(rng, key, entry, old):
    """A document that may have the container, and in it the entry or one like it."""
    value = {rng.choice(TEXTS[:-4]): random_value(rng) for _ in range(rng.randrange(4))}
    holder = {"server-%d" % i: random_value(rng, 2) for i in range(rng.randrange(3))}
    if rng.random() < 0.4:
        holder[entry] = rng.choice([old, None, {}, [1], dict(old, env={"A": "1"}, disabled=True)])
    if rng.random() < 0.7:
        value[key] = holder
    names = list(value)
    rng.shuffle(names)
    data = Writer(rng).document({name: value[name] for name in names})
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + data


def generator(seed):
    return random.Random(seed)
