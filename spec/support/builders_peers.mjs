// Call plans encoded and hashed by ethers 6, for spec/lua/shipped_builders_spec.lua. Arguments: the
// folder with ethers. On stdin a line of JSON a plan: {chain, sender, calls: [{kind, to, value,
// signature, arguments}]}; on stdout a line each: its digest.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [folder] = process.argv.slice(2);
const { Interface, keccak256, toUtf8Bytes } = createRequire(folder + "/")("ethers");

for await (const line of createInterface({ input: process.stdin })) {
  const { chain, sender, calls } = JSON.parse(line);
  const ordered_steps = calls.map(({ kind, to, value, signature, arguments: given }, n) => ({
    step: n + 1,
    kind,
    transaction: {
      chain_id: chain,
      from: sender,
      to,
      data: signature ? new Interface(["function " + signature]).encodeFunctionData(signature, given) : "0x",
      value: value ?? "0",
    },
  }));
  console.log(keccak256(toUtf8Bytes(JSON.stringify({ schema_version: "1", chain_id: chain, sender, ordered_steps }))));
}
