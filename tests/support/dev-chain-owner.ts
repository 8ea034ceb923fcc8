import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { startDevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { relayer, send, silent, storedIn, transfers } from './dev-chain.ts'

// A daemon in small: stores what it signs before it sends it. It is killed in the middle of that.
const [dataDir = '', binary = '', count = '0'] = process.argv.slice(2)
const raws = await transfers(Number(count))
const chain = await startDevChain({
  dataDir,
  binary,
  log: silent,
  rpcMode: 'guarded',
  relayers: () => [relayer.address],
  signedSince: () => [storedIn(dataDir)],
  names: {},
  saveAfterMs: 100,
})
process.stdout.write(`${JSON.stringify({ pid: chain.pid, rpcUrl: chain.rpcUrl })}\n`)
for (let at = 0; at < raws.length; at += 8) {
  const some = raws.slice(at, at + 8)
  appendFileSync(join(dataDir, 'stored.txt'), some.map((raw) => `${raw}\n`).join(''))
  await Promise.all(some.map((raw) => send(chain, raw)))
}
process.stdout.write('done\n')
