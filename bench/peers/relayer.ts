// Durable transfers without the HTTP in front: intents recorded in the store, signed, sent, mined, settled.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { recordTransfer } from '../../src/daemon/domain/phygitals/transfer.ts'
import { beginContext } from '../../src/daemon/process/context.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { applySeed, readSeed } from '../../src/daemon/seed/load.ts'
import { findToken, type LocatedToken } from '../../src/daemon/store/phygitals/tokens.ts'

export interface RelayerBench {
  /** Moves every token once. @returns transfers a second, until the last is settled */
  round(): Promise<number>
  /** Moves tokens by one relayer, each after the one before. @returns the median in ms until it is settled */
  moveBy(relayer: string, count: number): Promise<number>
  /** Records a transfer for this relayer, and does not wait for it. */
  leaveFor(relayer: string): Promise<void>
  /** How many of those that were moved so far shared a block: the median. */
  perBlock(): Promise<number>
  close(): Promise<void>
}

/** @param recipientOf who gets the n-th token in a round; those without an owner are minted in the first @param env of the daemon */
export async function openRelayerBench(
  dataDir: string,
  seed: object,
  recipientOf: (n: number, round: number) => string,
  env: Record<string, string> = {},
): Promise<RelayerBench> {
  mkdirSync(dataDir, { recursive: true })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const none = { help: false, version: false, configFile: undefined, values: {} }
  const config = loadConfig(none, { TAPCHIP_DATA_DIR: dataDir, TAPCHIP_RATE_LIMIT: 'off', ...env })
  const ctx = await beginContext(config, pino({ level: 'silent' }))
  await ctx.chains.opened
  await applySeed(ctx, await readSeed(seedFile))
  ctx.start()
  await reconcileChains(ctx)
  const rows = await ctx.db.read.selectFrom('tokens').select('id').orderBy('id').execute()
  const tokens: LocatedToken[] = []
  for (const { id } of rows) {
    const token = await findToken(ctx.db.read, id)
    if (token) tokens.push(token)
  }
  let rounds = 0
  let single = 0
  const shortestFirst = (chainId: number) =>
    ctx.chains.relayer.shortestFirst(
      chainId,
      ctx.chains.get(chainId).relayers.map(({ name }) => name),
    )
  const moveOne = async (relayer: string): Promise<number> => {
    const token = tokens[single++ % tokens.length]
    if (!token) throw new Error('there are no tokens')
    const recipient = `0x${(0xcc0000 + single).toString(16).padStart(40, '0')}`
    const transfer = { token, recipient, call: 'claimNFT', candidates: [relayer], counted: 'owed' } as const
    const id = await ctx.db.write((trx) => recordTransfer(trx, ctx, transfer))
    ctx.chains.relayer.wake()
    return id
  }
  return {
    async moveBy(relayer, count) {
      const took: number[] = []
      for (let n = 0; n < count; n++) {
        const started = performance.now()
        await ctx.chains.relayer.settled(await moveOne(relayer))
        took.push(performance.now() - started)
      }
      return took.toSorted((a, b) => a - b)[Math.floor(count / 2)] ?? 0
    },
    leaveFor: async (relayer) => void (await moveOne(relayer)),
    async round() {
      const round = ++rounds
      const started = performance.now()
      const candidates = await Promise.all(tokens.map((token) => shortestFirst(token.chainId)))
      const recorded = tokens.map((token, n) =>
        ctx.db.write((trx) =>
          recordTransfer(trx, ctx, {
            token,
            recipient: recipientOf(n, round),
            call: token.owner === null && round === 1 ? 'mintNFT' : 'claimNFT',
            candidates: candidates[n],
            counted: 'owed',
          }),
        ),
      )
      const ids = await Promise.all(recorded)
      ctx.chains.relayer.wake()
      const ends = await Promise.all(ids.map((id) => ctx.chains.relayer.settled(id)))
      const failed = ends.filter(({ name }) => name !== 'confirmed').length
      if (failed > 0) throw new Error(`${failed} transfers were not confirmed`)
      return tokens.length / ((performance.now() - started) / 1000)
    },
    async perBlock() {
      const blocks = await ctx.db.read
        .selectFrom('transactions')
        .select((e) => e.fn.countAll<number>().as('moved'))
        .where('kind', 'in', ['phygital-transfer', 'phygital-mint'])
        .groupBy('blockNumber')
        .orderBy('moved')
        .execute()
      // The first and the last one are rarely full.
      return Number(blocks[Math.floor(blocks.length / 2)]?.moved ?? 0)
    },
    close: () => ctx.close(),
  }
}
