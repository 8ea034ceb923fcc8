import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { startDevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { eagerRenewal, relayer, send, silent, storedIn, transfers } from './dev-chain.ts'

// A daemon in small: keeps what it signs before it sends it. It is killed in the middle of that, or kills itself where
// the chain's log says something.
const [dataDir = '', binary = '', count = '0', killAt = ''] = process.argv.slice(2)
const dying = pino(
  {},
  { write: (line: string) => void (line.includes(killAt) && process.kill(process.pid, 'SIGKILL')) },
)
const raws = await transfers(Number(count))
const chain = await startDevChain({
  dataDir,
  binary,
  log: killAt === '' ? silent : dying,
  ...(killAt === '' ? {} : { renewal: eagerRenewal }),
  rpcMode: 'guarded',
  rawTransactions: () => storedIn(dataDir),
  names: {},
  fund: [relayer.address],
  keepEvery: { blocks: 4, idleMs: 100 },
})
process.stdout.write(`${JSON.stringify({ pid: chain.pid, rpcUrl: chain.rpcUrl })}\n`)
for (let at = 0; at < raws.length; at += 8) {
  const some = raws.slice(at, at + 8)
  appendFileSync(join(dataDir, 'stored.txt'), some.map((raw) => `${raw}\n`).join(''))
  await Promise.all(some.map((raw) => send(chain, raw)))
}
process.stdout.write('done\n')
