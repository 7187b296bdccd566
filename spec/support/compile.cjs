// node compile.cjs PEERS SOURCE: the contracts of a Solidity file as spec/data/contracts.json has
// them, on standard output, by the npm package solc in PEERS/node_modules.
const fs = require("fs");
const [peers, file] = process.argv.slice(2);
const solc = require(require.resolve("solc", { paths: [peers] }));

const settings = {
  evmVersion: "paris",
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  optimizer: { enabled: true, runs: 200 },
};
const made = JSON.parse(solc.compile(JSON.stringify({
  language: "Solidity",
  sources: { "contracts.sol": { content: fs.readFileSync(file, "utf8") } },
  settings: { ...settings, outputSelection: { "*": { "*": ["evm.bytecode.object"] } } },
})));
const errors = (made.errors || []).filter((each) => each.severity === "error");
if (errors.length) {
  console.error(errors.map((each) => each.formattedMessage).join("\n"));
  process.exit(1);
}
const contracts = {};
for (const [name, each] of Object.entries(made.contracts["contracts.sol"]))
  contracts[name] = "0x" + each.evm.bytecode.object;
console.log(JSON.stringify({ compiler: solc.version(), settings, contracts }, null, 1));
