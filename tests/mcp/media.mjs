// The smallest picture and sound, made here: a red dot as PNG, an eighth of a second of silence as WAV.
import { crc32, deflateSync } from "node:zlib";

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    body.copy(framed, 4);
    framed.writeUInt32BE(crc32(body), body.length + 4);
    return framed;
}

function png() {
    const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]); // 1 × 1, 8 bits, RGB
    const pixels = deflateSync(Buffer.from([0, 255, 0, 0])); // no filter, red
    return Buffer.concat([
        Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
        chunk("IHDR", header),
        chunk("IDAT", pixels),
        chunk("IEND", Buffer.alloc(0)),
    ]);
}

function wav() {
    const rate = 8000;
    const samples = Buffer.alloc(rate / 8, 0x80);
    const header = Buffer.alloc(44);
    header.write("RIFF", 0);
    header.writeUInt32LE(36 + samples.length, 4);
    header.write("WAVEfmt ", 8);
    header.writeUInt32LE(16, 16);
    header.writeUInt16LE(1, 20); // plain samples
    header.writeUInt16LE(1, 22); // one channel
    header.writeUInt32LE(rate, 24);
    header.writeUInt32LE(rate, 28);
    header.writeUInt16LE(1, 32);
    header.writeUInt16LE(8, 34);
    header.write("data", 36);
    header.writeUInt32LE(samples.length, 40);
    return Buffer.concat([header, samples]);
}

export const picture = { type: "image", data: png().toString("base64"), mimeType: "image/png" };
export const sound = { type: "audio", data: wav().toString("base64"), mimeType: "audio/wav" };
