import { KEY_NUMBERS } from '../../../nfc/ntag424/layout.ts'
import { FACTORY_KEY } from '../../../nfc/provision/plan.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { planImport } from '../chips/import-chips.ts'
import { conflict, type DomainError, invalid } from '../errors/errors.ts'
import { assertMaySee, chipKeys, missingKeySet } from './chip-keys.ts'
import type { SetUpDeps } from './execute-plan.ts'
import { provision } from './provision.ts'
import { recoverChip } from './recover.ts'
import { resetChip } from './reset.ts'
import type { ChipDetails, ChipRequest } from './session.ts'
import type { NfcSessions, SessionOwner, SessionStep } from './sessions.ts'
import { showSheet } from './sheet-runs.ts'

type OpenDeps = SetUpDeps & BaseUrlDeps & { readonly config: { readonly ephemeral: boolean } }

interface OpenRequest extends Omit<ChipRequest, 'supplied'> {
  /** Keys 0 to 4, from the chip's owner. */
  readonly keys: readonly Buffer[] | undefined
  readonly tryFactoryKeys: boolean
  readonly purpose: 'provision' | 'recover' | 'reset'
  readonly keySet: number | undefined
  readonly chipGroup: string | undefined
  readonly rekey: boolean
  readonly acceptUrl: boolean
  /** Pause once the chip is known, and wait for instructions. */
  readonly waitForDetails: boolean
  readonly details: ChipDetails
  /** The run of a sheet whose rows the chips take. */
  readonly sheetRun: number | undefined
}

/** Public. */
const factoryKeys = KEY_NUMBERS.map(() => FACTORY_KEY)

/** A bad request throws; a problem of the chip ends the session. @throws DomainError invalid_input, not_found */
export async function openSession(
  deps: OpenDeps,
  { sessions, urlCheck }: { sessions: NfcSessions; urlCheck: BaseUrlCheck },
  holder: SessionOwner,
  request: OpenRequest,
  team: () => Promise<TeamRow>,
): Promise<SessionStep> {
  const { atr, maxLc, originality, purpose, waitForDetails, details, rekey, mayVouch, mayBind } = request
  const { uid, keys, tryFactoryKeys } = request
  const supplied = [...(keys ? [keys] : []), ...(tryFactoryKeys ? [factoryKeys] : [])]
  const chip = { atr, maxLc, originality, uid, supplied }
  if (keys && keys.length !== KEY_NUMBERS.length) throw invalid('keys', 'must be five keys')
  if (keys && purpose === 'recover')
    throw invalid('keys', 'are not needed: the journal has those of the chip that was begun')
  if (keys && purpose === 'provision' && !rekey)
    throw invalid('keys', 'replace those of a chip that is set up, which needs rekey')
  switch (purpose) {
    case 'recover':
      return sessions.open(deps, holder, (session) =>
        recoverChip(deps, session, { ...chip, mayVouch, mayBind }),
      )
    case 'reset':
      return sessions.open(deps, holder, (session) =>
        resetChip(deps, session, { ...chip, asks: waitForDetails, mayVouch }),
      )
    case 'provision': {
      const { keySet, chipGroup, sheetRun } = request
      if (keySet === undefined) throw invalid('keySet', 'is required to set up a chip')
      if (chipGroup === undefined) throw invalid('chipGroup', 'is required to set up a chip')
      if (sheetRun !== undefined && !waitForDetails)
        throw invalid('sheet', 'needs waitForDetails, since the rows stay with the caller')
      const { id: teamId } = await team()
      if (sheetRun !== undefined) await showSheet(deps, sheetRun, teamId)
      const { actor } = holder
      const asPlanned = { isSimulated: false, mayBind, dryRun: true }
      await planImport(deps, { teamId, actor, chipGroup, keySetId: keySet, ...asPlanned })
      const set = deps.keyRing.get(keySet)
      if (!set) throw missingKeySet(keySet)
      assertMaySee(set, mayVouch)
      // Fails now, not at the first chip, if the key set cannot set up chips.
      await chipKeys({ db: deps.db.read, box: deps.box }, [{ keySet, generation: 0 }])
      await assertUrl(deps, urlCheck, request.acceptUrl)
      const knownDetails = waitForDetails ? undefined : details
      const order = {
        ...chip,
        teamId,
        chipGroup,
        set,
        rekey,
        mayVouch,
        mayBind,
        details: knownDetails,
        sheetRun,
      }
      return sessions.open(deps, holder, (session) => provision(deps, session, order))
    }
  }
}

async function assertUrl(deps: OpenDeps, check: BaseUrlCheck, isAccepted: boolean): Promise<void> {
  // An ephemeral daemon's chips are temporary anyway.
  if (isAccepted || deps.config.ephemeral) return
  if (!/^[\x21-\x7e]+$/.test(deps.baseUrl))
    throw conflict("The daemon's base URL contains non-ASCII characters, which a chip's URL must not.")
  await check.assertReachable(deps)
}

/** The guarded outbound client. @throws Error whose message contains no secrets */
interface HealthFetch {
  request(request: {
    url: string
    method: string
    headers: Readonly<Record<string, string>>
    timeoutMs?: number
    maxBytes?: number
  }): Promise<{ status: number; body: Buffer }>
}

interface BaseUrlDeps {
  readonly baseUrl: string
  readonly instance: string
  readonly outbound: HealthFetch
  readonly clock: { monotonic(): number }
}

const goodForMs = 60_000
const timeoutMs = 8_000

/** Phones must reach the base URL, which is locked into chips permanently. Success is cached for a minute. */
export class BaseUrlCheck {
  #good: { url: string; at: number } | undefined

  /** @throws DomainError conflict */
  async assertReachable({ baseUrl, instance, outbound, clock }: BaseUrlDeps): Promise<void> {
    const now = clock.monotonic()
    if (this.#good?.url === baseUrl && now - this.#good.at < goodForMs) return
    const problem = literalProblem(baseUrl) ?? (await healthProblem(baseUrl, instance, outbound))
    if (problem !== undefined) throw invalidUrl(baseUrl, problem)
    this.#good = { url: baseUrl, at: now }
  }
}

const invalidUrl = (baseUrl: string, problem: string): DomainError =>
  conflict(
    `Chips would show ${baseUrl} permanently, and it ${problem}. Start the daemon with an address that phones can reach (tapchipd --base-url https://…), or use --accept-url to write it anyway.`,
  )

function literalProblem(baseUrl: string): string | undefined {
  const { protocol, hostname } = new URL(baseUrl)
  if (/^(localhost|.*\.localhost|127\.[\d.]+|\[::1?\]|0\.0\.0\.0)$/i.test(hostname))
    return 'is on loopback, which phones cannot reach'
  if (protocol !== 'https:') return 'is not https'
  return undefined
}

async function healthProblem(
  baseUrl: string,
  instance: string,
  outbound: HealthFetch,
): Promise<string | undefined> {
  let answer: { status: number; body: Buffer }
  try {
    const headers = { accept: 'application/json' }
    answer = await outbound.request({
      url: `${baseUrl}/healthz`,
      method: 'GET',
      headers,
      timeoutMs,
      maxBytes: 4096,
    })
  } catch (error) {
    return `could not be reached at /healthz: ${error instanceof Error ? error.message : 'it did not answer'}`
  }
  if (answer.status !== 200) return `answers ${answer.status} to /healthz`
  if (instanceIn(answer.body) !== instance) return 'is not this daemon: its /healthz names another instance'
  return undefined
}

function instanceIn(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && 'instance' in value ? value.instance : undefined
  } catch {
    return undefined
  }
}
