// Digests of typed data by ethers and viem, for spec/call/typed_data_peers_spec.lua: a JSON text a
// line on stdin, one of the digests on stdout. The libraries are those below the folder given.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { TypedDataEncoder, version } = require("ethers");
const viem = require("viem");

console.log(JSON.stringify({ ethers: version, viem: require("viem/package.json").version }));

const attempt = (digests) => {
  try {
    return digests();
  } catch (error) {
    return { error: String(error.message).split("\n")[0] };
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const { types, primaryType, domain, message } = JSON.parse(line);
  const { EIP712Domain, ...structs } = types;
  const chain = domain.chainId === undefined ? {} : { chainId: BigInt(domain.chainId) };
  console.log(JSON.stringify({
    ethers: attempt(() => ({
      domain_separator: TypedDataEncoder.hashDomain({ ...domain, ...chain }),
      message_hash: TypedDataEncoder.hashStruct(primaryType, structs, message),
      signing_digest: TypedDataEncoder.hash({ ...domain, ...chain }, structs, message),
    })),
    viem: attempt(() => ({
      domain_separator: viem.hashDomain({ domain: { ...domain, ...chain }, types }),
      message_hash: viem.hashStruct({ data: message, primaryType, types }),
      signing_digest: viem.hashTypedData({ domain: { ...domain, ...chain }, types, primaryType, message }),
    })),
  }));
}
