import pino from 'pino'
import { type Hex, pad, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import * as z from 'zod'
import { remoteRelayers } from '../../../src/daemon/chain/keys/remote-relayers.ts'
import type { TransactionSigner } from '../../../src/daemon/chain/keys/transaction-signer.ts'
import { Web3signer } from '../../../src/daemon/chain/keys/web3signer.ts'
import { NotSignedYet } from '../../../src/daemon/chain/relayer/errors.ts'
import { Idempotency } from '../../../src/daemon/chain/relayer/idempotency.ts'
import { recordIntent } from '../../../src/daemon/chain/relayer/record-intent.ts'
import { openRelayer } from '../../../src/daemon/chain/relayer/relayer.ts'
import { releaseAllLeases } from '../../../src/daemon/store/lease/lease.ts'
import { openTestStore } from '../engines.ts'
import { rpcTransport } from '../rpc-transport.ts'

// A process that wants a number of effects, each by a request with an Idempotency-Key, and is there to be killed.
// It says each answer on a line of its own, and `done` when all are settled.

const { directory, url, tally, count, signer } = z
  .object({
    directory: z.string(),
    url: z.string(),
    tally: z.templateLiteral(['0x', z.string()]),
    count: z.number(),
    /** The URL of a remote signer. */
    signer: z.string().optional(),
  })
  .parse(JSON.parse(process.argv[2] ?? 'null'))

// The relayer's timers keep no process alive; in the daemon its server does.
const alive = setInterval(() => undefined, 1_000)
const db = await openTestStore(directory)
await db.write(releaseAllLeases)
const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const dev = mnemonicToAccount('test test test test test test test test test test test junk')
const remote = async (url: string): Promise<TransactionSigner> => {
  const of = { chainId: 31337, count: 1, mayTake: () => true, signer: new Web3signer(url) }
  const found = await remoteRelayers({ db, log: pino({ level: 'silent' }) }, of).catch(() => undefined)
  return found === undefined ? remote(url) : found[0]
}
const key = signer === undefined ? dev : await remote(signer)
const relayer = await openRelayer({
  db,
  clock,
  timing: { busyMs: 4, idleMs: 20, resendMs: 200, maxBackoffMs: 20 },
  chains: [
    {
      chainId: 31337,
      transport: rpcTransport(url, 1_000),
      confirmations: 1,
      maxFeePerGas: 100_000_000_000n,
      minTip: 0n,
      maxTip: undefined,
      maxGas: 2_000_000,
      tip: 1_000_000_000n,
      forgets: true,
      signers: { relayer: key },
    },
  ],
})
relayer.start()
const idempotency = new Idempotency({ db, lived: clock.now })

/** Asks again while a signer that is away leaves it unsigned. */
const broadcasted = async (id: number): Promise<Hex> => {
  for (;;)
    try {
      return await relayer.broadcasted(id)
    } catch (error) {
      if (!(error instanceof NotSignedYet)) throw error
    }
}

const request = async (slot: number): Promise<void> => {
  const claim = {
    scope: 'test',
    key: `slot ${slot}`,
    requestHash: String(slot),
    madeAt: clock.now(),
    lifetimeMs: 86_400_000,
  }
  const answer = await idempotency.run({
    claim,
    answer: z.object({ id: z.number(), hash: z.string() }),
    run: async () => {
      const id = await db.write((trx) =>
        recordIntent(trx, {
          chainId: 31337,
          call: { to: tally, data: pad(toHex(slot)) },
          gasHint: 60_000,
          kind: 'tally',
          subject: { slot },
          teamId: null,
          idempotency: claim,
          now: clock.now(),
        }),
      )
      return { id, hash: await broadcasted(id) }
    },
    resume: async (id) => ({ id: id ?? 0, hash: await broadcasted(id ?? 0) }),
  })
  process.stdout.write(`${slot} ${answer.hash}\n`)
  await relayer.settled(answer.id)
}

await Promise.all(Array.from({ length: count }, (_, index) => request(index + 1)))
// What the chain forgot while nobody looked is found by a look, not by what was settled before.
while ((await relayer.tick()).some(({ unsettled, trouble }) => unsettled > 0 || trouble));
process.stdout.write('done\n')
await relayer.close()
await db.close()
clearInterval(alive)
