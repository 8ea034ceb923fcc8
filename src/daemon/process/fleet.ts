import { hostname } from 'node:os'
import type { Logger } from 'pino'
import * as z from 'zod'
import { BackgroundLoop } from '../../values/background-loop.ts'
import type { Chain, RemoteChain } from '../chain/chains.ts'
import { holderIn } from '../chain/dev-chain/alone.ts'
import { defaultMaxGas } from '../chain/relayer/sender.ts'
import type { Config } from '../config/config.ts'
import { variableOf } from '../config/settings.ts'
import { type Db, isShared } from '../store/database/database.ts'
import { hearDaemon, otherDaemons, pruneDaemons } from '../store/lease/daemons.ts'
import { version } from './version.ts'

const everyMs = 2000
/** Writing costs more than reading. */
const writtenEveryMs = 5000
/** After this time, the settings of a silent daemon no longer count. */
const silentMs = 15_000
/** A daemon that restarts or reconnects within this time still has its chains. */
const forgottenMs = 3_600_000

/** Settings that daemons on one database must share. Contains no secrets: only addresses of keys. */
const agreed = z.object({
  /** Settings as text, by name. */
  settings: z.record(z.string(), z.string()),
  /** Chains by id. */
  chains: z.record(z.string(), z.string()),
})
type Agreed = z.infer<typeof agreed>

const named = (name: string) => `${name} (${variableOf(name)})`

function agreedOf(config: Config, chains: readonly Chain[]): Agreed {
  const { otpLifetimeMs, refLifetimeMs, badges } = config
  const values = {
    // Without a base URL, each daemon uses the address where it listens.
    baseUrl: config.baseUrl,
    wirePrefix: config.wirePrefix,
    wireBadge: config.wireBadge,
    otpTtlSeconds: otpLifetimeMs / 1000,
    refTtlSeconds: refLifetimeMs / 1000,
    keepTapsDays: config.keepTapsDays,
    keepEmailsDays: config.keepEmailsDays,
    rateLimit: config.rateLimit ?? 'off',
    keyRateLimit: config.keyRateLimit ?? 'off',
    badgeProvider: badges.provider,
    badgeApproval: badges.approval,
    webhooksPrivate: config.webhooksPrivate,
  }
  const declared = Object.entries(values).filter(([, value]) => value !== undefined)
  const settings = Object.fromEntries(declared.map(([name, value]) => [named(name), String(value)]))
  return {
    settings: { version, ...settings },
    chains: Object.fromEntries(chains.map((chain) => [chain.id, describeChain(chain, config)])),
  }
}

function describeChain({ id, relayers, signVerifier }: Chain, { chains }: Config): string {
  const remote = chains.find(({ chainId }) => chainId === id)
  const depth =
    remote === undefined
      ? 'embedded'
      : `${remote.confirmations} confirmations, at most ${remote.maxFeePerGas} wei per gas`
  const expiry = remote?.expiryBlocks === undefined ? '' : `, signatures for ${remote.expiryBlocks} blocks`
  const relayer = relayers.map(({ address }) => address).join(' and ')
  return `relayer ${relayer}, sign verifier ${signVerifier.address}, ${depth}${expiry}${limits(remote)}`
}

/** Omits unset values, which a daemon of an older version does not report. */
function limits(chain: RemoteChain | undefined): string {
  if (chain === undefined) return ''
  const { minTip, maxTip, maxGas } = chain
  return [
    ...(minTip === 0n ? [] : [`, tips of at least ${minTip} wei`]),
    ...(maxTip === undefined ? [] : [`, tips of at most ${maxTip} wei`]),
    ...(maxGas === defaultMaxGas ? [] : [`, ${maxGas} gas a transfer`]),
  ].join('')
}

/** One warning for each setting that differs between two daemons. */
function* differences(ours: Agreed, theirs: Agreed, name: string): Generator<string> {
  const warning = (what: string, here: string, there: string) =>
    `The daemons on this database differ in ${what}: ${here} here, ${there} at ${name}. Give all of them the same.`
  for (const [setting, here] of Object.entries(ours.settings)) {
    const there = theirs.settings[setting]
    // A daemon of another version may have more settings, or fewer.
    if (there !== undefined && there !== here) yield warning(setting, here, there)
  }
  for (const id of new Set([...Object.keys(ours.chains), ...Object.keys(theirs.chains)])) {
    const [here, there] = [ours, theirs].map(({ chains }) => chains[id] ?? 'not configured')
    if (here !== there) yield warning(`chain ${id} (TAPCHIP_RPC_${id} and its keys)`, here ?? '', there ?? '')
  }
}

interface Other {
  name: string
  isAlive: boolean
  agreed: Agreed
}

function readAgreed(json: string): Agreed | undefined {
  const read = agreed.safeParse(JSON.parse(json))
  return read.success ? read.data : undefined
}

/** Daemons on one database publish their settings and compare them with each other's. */
export class Fleet {
  readonly #db: Db
  readonly #log: Pick<Logger, 'warn'>
  readonly #config: Config
  readonly #loop: BackgroundLoop
  #id: string | undefined
  #settings: Agreed | undefined
  #others: readonly Other[] = []
  #warned: readonly string[] = []
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor({ db, log, config }: { db: Db; log: Pick<Logger, 'warn'>; config: Config }) {
    this.#db = db
    this.#log = log
    this.#config = config
    this.#loop = new BackgroundLoop({
      run: () => this.#compare(),
      firstMs: everyMs,
      restMs: () => everyMs,
      // Other code that needs the database reports this failure.
      failed: () => undefined,
    })
  }

  /**
   * Compares the settings once before it resolves, and periodically after that. Does nothing if no other daemon uses
   * the database.
   */
  async join(chains: readonly Chain[]): Promise<void> {
    if (!isShared(this.#db)) return
    this.#id = holderIn(this.#config.dataDir)
    this.#settings = agreedOf(this.#config, chains)
    await this.#compare()
    this.#loop.start()
  }

  async unregister(): Promise<void> {
    await this.#loop.stop()
    const record = this.#record()
    if (record) await this.#db.write((trx) => hearDaemon(trx, record, silentMs)).catch(() => undefined)
  }

  /** True if another daemon has the chain, or had it an hour ago. */
  readonly hasChain = (chainId: number): boolean =>
    this.#others.some(({ agreed: { chains } }) => chains[chainId] !== undefined)

  /** The settings in which the running daemons differ. */
  warnings(): readonly string[] {
    const ours = this.#settings
    if (ours === undefined) return []
    const alive = this.#others.filter(({ isAlive }) => isAlive)
    return alive.flatMap(({ name, agreed: theirs }) => [...differences(ours, theirs, name)])
  }

  #record() {
    if (this.#id === undefined || this.#settings === undefined) return undefined
    const name = `${hostname()}, process ${process.pid}`
    return { id: this.#id, name, settings: JSON.stringify(this.#settings) }
  }

  async #compare(): Promise<void> {
    const record = this.#record()
    if (record === undefined) return
    const now = performance.now()
    if (now - this.#writtenAt >= writtenEveryMs) {
      await this.#db.write(async (trx) => {
        await hearDaemon(trx, record)
        await pruneDaemons(trx, forgottenMs)
      })
      this.#writtenAt = now
    }
    const rows = await otherDaemons(this.#db.changeFeed ?? this.#db.read, record.id)
    this.#others = rows.flatMap(({ name, settings, silentMs: silent }) => {
      const theirs = readAgreed(settings)
      return theirs === undefined ? [] : [{ name, isAlive: Number(silent) < silentMs, agreed: theirs }]
    })
    const warnings = this.warnings()
    for (const warning of warnings) if (!this.#warned.includes(warning)) this.#log.warn(warning)
    this.#warned = warnings
  }
}
