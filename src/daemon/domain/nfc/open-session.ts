import { parseNdef } from '../../../nfc/ndef.ts'
import { KEY_NUMBERS } from '../../../nfc/ntag424/layout.ts'
import { templateFile } from '../../../nfc/ntag424/template/file.ts'
import { isSlot } from '../../../nfc/ntag424/template/parse.ts'
import { FACTORY_KEY } from '../../../nfc/provision/plan.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { planImport } from '../chips/import-chips.ts'
import type { KeySet } from '../chips/key-ring.ts'
import { conflict, type DomainError, invalid } from '../errors/errors.ts'
import { assertMaySee, chipKeys, missingKeySet } from './chip-keys.ts'
import type { SetUpDeps } from './execute-plan.ts'
import { provision } from './provision.ts'
import { recoverChip } from './recover.ts'
import { resetChip } from './reset.ts'
import type { ChipDetails, ChipRequest } from './session.ts'
import type { NfcSessions, SessionOwner, SessionStep } from './sessions.ts'
import { showSheet } from './sheet-runs.ts'
import { type RequestedContent, recordsOf } from './url-content.ts'

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
  readonly content: RequestedContent
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
      await assertMaySee(deps.db.read, set, { mayVouch, ...actor })
      // Fails now, not at the first chip, if the key set cannot set up chips.
      await chipKeys({ db: deps.db.read, box: deps.box }, [{ keySet, generation: 0 }])
      const { content } = request
      assertFits(deps, set, content)
      await assertUrl(deps, urlCheck, set, request.acceptUrl)
      const knownDetails = waitForDetails ? undefined : details
      const order = {
        ...chip,
        teamId,
        chipGroup,
        set,
        rekey,
        content,
        mayVouch,
        mayBind,
        details: knownDetails,
        sheetRun,
      }
      return sessions.open(deps, holder, (session) => provision(deps, session, order))
    }
  }
}

/** Refuses before the first chip what no chip can hold. @throws DomainError */
function assertFits(
  { baseUrl }: BaseUrlDeps,
  { id, template, mode }: KeySet,
  content: RequestedContent,
): void {
  const { fileData = '' } = content
  if (fileData && !template.query.some(isSlot('enc')))
    throw invalid('fileData', `needs {enc} in the template of the key set ${id}, which is ${template.text}`)
  const records = parseNdef(Buffer.from(recordsOf(content), 'hex'))
  try {
    templateFile({
      template,
      baseUrl,
      keySet: id,
      lrp: mode === 'lrp',
      records,
      ...(fileData ? { fileData } : {}),
    })
  } catch (error) {
    if (error instanceof RangeError) throw conflict(`The chips cannot be set up: ${error.message}.`)
    throw error
  }
}

async function assertUrl(
  deps: OpenDeps,
  check: BaseUrlCheck,
  { id, template: { head } }: KeySet,
  isAccepted: boolean,
): Promise<void> {
  // An ephemeral daemon's chips are temporary anyway.
  if (isAccepted || deps.config.ephemeral) return
  await check.assertReachable(deps, head === '' ? undefined : { keySet: id, head })
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

/** The address in the template of a key set. */
interface OwnAddress {
  readonly keySet: number
  readonly head: string
}

/** Phones must reach the address that is locked into chips permanently. Success is cached for a minute. */
export class BaseUrlCheck {
  readonly #good = new Map<string, number>()

  /** @param own in place of the base URL @throws DomainError conflict */
  async assertReachable(
    { baseUrl, instance, outbound, clock }: BaseUrlDeps,
    own?: OwnAddress,
  ): Promise<void> {
    const now = clock.monotonic()
    const url = own?.head ?? baseUrl
    const goodAt = this.#good.get(url)
    if (goodAt !== undefined && now - goodAt < goodForMs) return
    const problem =
      literalProblem(url) ??
      (own
        ? await ownHostProblem(new URL(own.head).origin, instance, outbound)
        : await healthProblem(baseUrl, instance, outbound))
    if (problem !== undefined) throw invalidUrl(url, problem, own)
    this.#good.set(url, now)
  }
}

const invalidUrl = (url: string, problem: string, own: OwnAddress | undefined): DomainError => {
  const remedy = own
    ? `That address is from the template of the key set ${own.keySet}: create one with another template (tapchip key-sets create)`
    : 'Start the daemon with an address that phones can reach (tapchipd --base-url https://…)'
  return conflict(
    `Chips would show ${url} permanently, and it ${problem}. ${remedy}, or use --accept-url to write it anyway.`,
  )
}

/** The host of a brand may send taps on to this daemon in ways of its own, so it need not be the daemon. */
async function ownHostProblem(
  origin: string,
  instance: string,
  outbound: HealthFetch,
): Promise<string | undefined> {
  const answer = await healthOf(origin, outbound)
  if (typeof answer === 'string') return answer
  const other = instanceIn(answer.body)
  return typeof other === 'string' && other !== instance ? 'leads to another Tapchip daemon' : undefined
}

function literalProblem(url: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(url)) return "has non-ASCII characters, which a chip's URL must not"
  const { protocol, hostname } = new URL(url)
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
  const answer = await healthOf(baseUrl, outbound)
  if (typeof answer === 'string') return answer
  if (answer.status !== 200) return `answers ${answer.status} to /healthz`
  if (instanceIn(answer.body) !== instance) return 'is not this daemon: its /healthz names another instance'
  return undefined
}

/** @returns what is wrong if nothing answers */
async function healthOf(
  base: string,
  outbound: HealthFetch,
): Promise<{ status: number; body: Buffer } | string> {
  try {
    const headers = { accept: 'application/json' }
    return await outbound.request({
      url: `${base}/healthz`,
      method: 'GET',
      headers,
      timeoutMs,
      maxBytes: 4096,
    })
  } catch (error) {
    return `could not be reached at /healthz: ${error instanceof Error ? error.message : 'it did not answer'}`
  }
}

function instanceIn(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && 'instance' in value ? value.instance : undefined
  } catch {
    return undefined
  }
}
