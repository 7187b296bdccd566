// Random calls and their encodings by ethers, for spec/call/abi_peers_spec.lua. Arguments: the
// folder with ethers, a seed, how many. On stdout the version, then a line each of
// {signature, fragment, selector, arguments, data}.
import { createRequire } from "node:module";

const [folder, seed, count] = process.argv.slice(2);
const require = createRequire(folder + "/");
const { Interface, version } = require("ethers");

// mulberry32
let state = Number(seed) >>> 0;
const below = (limit) => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % limit;
};
const pick = (list) => list[below(list.length)];
const bytes = (length) => "0x" + Array.from({ length }, () => below(256).toString(16).padStart(2, "0")).join("");
const unsigned = (bits) => {
  const most = (1n << BigInt(bits)) - 1n;
  const any = BigInt(bytes(32)) & most;
  return pick([0n, most, any, any, any >> BigInt(below(bits))]);
};
const strings = ["", "a", "dave", "€ and 𝄞", "\"quoted\\\"", "two\nlines\u0000", "x".repeat(31), "x".repeat(32), "x".repeat(33)];

// A type: {text, make}; make gives [what ethers takes, what a document has].
const scalar = () => {
  const size = 1 + below(32);
  return pick([
    { text: `uint${8 * size}`, make: () => { const n = unsigned(8 * size); return [n, String(n)]; } },
    { text: `int${8 * size}`, make: () => { const n = BigInt.asIntN(8 * size, unsigned(8 * size)); return [n, String(n)]; } },
    { text: `bytes${size}`, make: () => { const b = bytes(size); return [b, b]; } },
    { text: "address", make: () => { const b = bytes(20); return [b, b]; } },
    { text: "bool", make: () => { const b = below(2) === 1; return [b, b]; } },
    { text: "bytes", make: () => { const b = bytes(pick([0, 1, 31, 32, 33, 100])); return [b, b]; } },
    { text: "string", make: () => { const s = pick(strings); return [s, s]; } },
  ]);
};
const type = (depth) => {
  const kind = depth ? below(4) : 0;
  if (kind < 2) return scalar();
  if (kind === 2) {
    const element = type(depth - 1);
    const fixed = below(2) * (1 + below(3));
    return {
      text: `${element.text}[${fixed || ""}]`,
      make: () => {
        const made = Array.from({ length: fixed || below(4) }, element.make);
        return [made.map((one) => one[0]), made.map((one) => one[1])];
      },
    };
  }
  const parts = Array.from({ length: 1 + below(4) }, () => type(depth - 1));
  const named = below(2) === 1;
  return {
    text: `(${parts.map((part, n) => part.text + (named ? ` n${n}` : "")).join(",")})`,
    make: () => {
      const made = parts.map((part) => part.make());
      const ours = made.map((one) => one[1]);
      return [made.map((one) => one[0]), named ? Object.fromEntries(ours.map((one, n) => [`n${n}`, one])) : ours];
    },
  };
};

console.log(JSON.stringify({ ethers: version }));
for (let n = 0; n < Number(count); n++) {
  const types = Array.from({ length: below(5) }, () => type(below(5)));
  const values = types.map((one) => one.make());
  const signature = `f(${types.map((one) => one.text).join(",")})`;
  const face = new Interface([`function ${signature}`]);
  const entry = face.getFunction("f");
  console.log(JSON.stringify({
    signature,
    fragment: face.formatJson(),
    canonical: entry.format("sighash"),
    selector: entry.selector,
    arguments: values.map((one) => one[1]),
    data: face.encodeFunctionData("f", values.map((one) => one[0])),
  }));
}
