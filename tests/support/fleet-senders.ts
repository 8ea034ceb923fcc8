import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pad, parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { adminToken } from './daemon.ts'
import { databaseOf, dropDatabaseOf } from './postgres.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { tally } from './relayer.ts'
import { openRemoteChain, remoteRelayer } from './remote-chain.ts'

const secondKey = `0x${'34'.repeat(32)}` as const
const second = privateKeyToAccount(secondKey)
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

/** Waits for something to happen. @throws Error with what was waited for */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  withinMs = 30_000,
): Promise<T> {
  const end = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`)
    await pause(20)
  }
}

const names = ['relayer', 'relayer-2']
const candidatesOf = (slot: number) => (slot % 2 === 0 ? names : names.toReversed())

/** Daemons that are processes, on one database and one chain, which counts what they send. */
export async function openSenders(chainId = 7, relayers = 1) {
  const chain = await openRemoteChain({ chainId })
  await chain.rpc('anvil_setBalance', [second.address, toHex(parseEther('10'))])
  await chain.rpc('anvil_setCode', [tally.address, tally.code])
  const directory = mkdtempSync(join(tmpdir(), 'tapchip-fleet-'))
  const env: Record<string, string> = {
    ...chain.env,
    ...(await databaseOf(directory)),
    TAPCHIP_ADMIN_TOKEN: adminToken,
    [`TAPCHIP_RELAYERS_${chainId}`]: String(relayers),
    [`TAPCHIP_RELAYER_KEY_${chainId}_2`]: secondKey,
  }
  const db = await openPostgres(env.TAPCHIP_DATABASE_URL ?? '')
  const running = new Set<DaemonProcess>()
  let starts = 0
  let slots = 0
  const name = `sender ${chainId} ${remoteRelayer.address}`
  const lease = () => db.read.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
  const transactions = () =>
    db.read
      .selectFrom('transactions')
      .select(['id', 'state', 'nonce', 'settledAt'])
      .where('kind', '=', 'tally')
      .orderBy('id')
      .execute()
  return {
    chain,
    db,
    env,
    lease,
    transactions,
    async start(): Promise<DaemonProcess> {
      starts += 1
      const args = ['--port', '0', '--data-dir', join(directory, `d${starts}`)]
      const daemon = await spawnDaemon(args, env)
      running.add(daemon)
      return daemon
    },
    async kill(daemon: DaemonProcess) {
      running.delete(daemon)
      await daemon.kill()
    },
    /** Records effects as any daemon on the database does, each for a slot of its own. */
    record: (count: number) =>
      db
        .write(async (trx) => {
          for (let slot = slots + 1; slot <= slots + count; slot++)
            await recordIntent(trx, {
              chainId,
              candidates: relayers > 1 ? candidatesOf(slot) : undefined,
              call: { to: tally.address, data: pad(toHex(slot)) },
              gasHint: 60_000,
              kind: 'tally',
              subject: { slot },
              teamId: null,
              now: Date.now(),
            })
        })
        .then(() => {
          slots += count
        }),
    /** The holder, once it is another than `before`. */
    heldByOther: (before: string | undefined, withinMs = 30_000) =>
      until(
        'another daemon takes the lease',
        async () => {
          const row = await lease()
          return row !== undefined && row.holder !== '' && row.holder !== before && row
        },
        withinMs,
      ),
    allSettled: () =>
      until('all transactions are settled', async () =>
        (await transactions()).every(({ settledAt }) => settledAt !== null),
      ),
    /** How often each effect came, and the nonces: used on the chain, given in the store, and of the transactions. */
    async outcome() {
      const effects: number[] = []
      for (let slot = 1; slot <= slots; slot++)
        effects.push(Number(await chain.rpc('eth_getStorageAt', [tally.address, pad(toHex(slot)), 'latest'])))
      const used = Number(await chain.rpc('eth_getTransactionCount', [remoteRelayer.address, 'latest']))
      const given = (await db.read.selectFrom('senders').select('nextNonce').executeTakeFirst())?.nextNonce
      const rows = await transactions()
      const states = new Set<string>(rows.map(({ state }) => state))
      return { effects: new Set(effects), used, given, nonces: rows.map(({ nonce }) => nonce), states }
    },
    /** The nonces of each relayer: used on the chain, given in the store, and of its transactions. */
    async bySender() {
      const rows = await db.read
        .selectFrom('transactions')
        .select(['sender', 'nonce'])
        .where('kind', '=', 'tally')
        .orderBy('nonce')
        .execute()
      return Promise.all(
        [remoteRelayer.address, second.address].map(async (address) => ({
          used: Number(await chain.rpc('eth_getTransactionCount', [address, 'latest'])),
          given: (
            await db.read
              .selectFrom('senders')
              .select('nextNonce')
              .where('address', '=', address)
              .executeTakeFirst()
          )?.nextNonce,
          nonces: rows.flatMap(({ sender, nonce }) => (sender === address ? [nonce] : [])),
        })),
      )
    },
    async close() {
      await Promise.all([...running].map((daemon) => daemon.kill()))
      await db.close()
      await chain.close()
      await dropDatabaseOf(directory)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export type Senders = Awaited<ReturnType<typeof openSenders>>
