import { randomBytes } from 'node:crypto'
import type { WebhookType } from '../../../values/webhook-types.ts'
import { findTeam } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { WebhookRow } from '../../store/schema/schema.ts'
import { countOpen } from '../../store/webhooks/webhook-deliveries.ts'
import {
  disableWebhook,
  findWebhook,
  insertWebhook,
  markRemoved,
  updateWebhook,
  webhooksOfTeam,
} from '../../store/webhooks/webhooks.ts'
import { conflict, invalid, notFound, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { storedTypes, typesOf, type WebhookEvents } from './events.ts'
import { deleteRemoved, dropWaiting } from './prune.ts'
import type { Target, WebhookOutbound } from './send.ts'

export interface WebhookDeps {
  db: Db
  clock: Clock
  box: SecretBox
  webhookEvents: WebhookEvents
  webhooks: {
    readonly outbound: Pick<WebhookOutbound, 'whyNot'>
    /** Called after webhooks changed. */
    changed(): Promise<void>
  }
}

const urlContext = 'webhooks:url'
const secretContext = 'webhooks:secret'

/** The reason for disabling a webhook that did not fail. */
export const byOperator = 'disabled by an operator'
/** Maximum of pending deliveries per webhook; beyond it, the webhook is disabled. */
export const maxWaiting = 100_000
const perTeam = 20
const oldSecretMs = 24 * 3_600_000

export interface WebhookView {
  id: number
  teamId: number
  /** Omits path and query unless the caller may edit webhooks: they may contain a secret of the receiver. */
  url: string
  events: WebhookType[]
  createdAt: string
  disabledAt: string | null
  disabledReason: string | null
  /** Until then, the previous secret signs too. */
  rollingUntil: string | null
  /** Counted up to the maximum. */
  waiting: number
}

type Deps = WebhookDeps
type Of = { teamId: number; actor: Actor }

/** @param mayEdit the caller may see whole URLs */
export async function listWebhooks(deps: Deps, teamId: number, mayEdit: boolean): Promise<WebhookView[]> {
  return listedWebhooks(deps, await webhooksOfTeam(deps.db.read, teamId), mayEdit)
}

export const listedWebhooks = (
  deps: Deps,
  rows: readonly WebhookRow[],
  mayEdit: boolean,
): Promise<WebhookView[]> => Promise.all(rows.map((row) => viewOf(deps, row, mayEdit)))

async function viewOf({ db, box, clock }: Deps, row: WebhookRow, mayEdit: boolean): Promise<WebhookView> {
  const { id, teamId, createdAt, disabledAt, disabledReason, oldSecretUntil } = row
  return {
    ...{ id, teamId, createdAt, disabledAt, disabledReason },
    url: shownUrl(box, row, mayEdit),
    events: typesOf(row.events),
    rollingUntil: oldSecretUntil !== null && oldSecretUntil > iso(clock.now()) ? oldSecretUntil : null,
    waiting: await countOpen(db.slow, id, maxWaiting),
  }
}

const urlOf = (box: SecretBox, { url }: Pick<WebhookRow, 'url'>): string =>
  box.open(url, urlContext).toString()

/** A webhook that cannot be decrypted must not hide others in a list, and can be disabled and removed. */
function shownUrl(box: SecretBox, row: WebhookRow, mayEdit: boolean): string {
  try {
    if (mayEdit) return urlOf(box, row)
  } catch {
    // The log reports it at the next delivery.
  }
  return `${row.origin}/…`
}

/** @throws if it cannot be decrypted */
export function targetOf(box: SecretBox, row: WebhookRow): Target {
  const open = (sealed: Uint8Array) => box.open(sealed, secretContext)
  const old = row.oldSecret === null ? [] : [{ bytes: open(row.oldSecret), until: row.oldSecretUntil }]
  return { url: urlOf(box, row), secrets: [{ bytes: open(row.secret), until: null }, ...old] }
}

/** A new secret, in the form for receivers and in the stored form. */
function newSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const bytes = randomBytes(32)
  return { secret: `whsec_${bytes.toString('base64')}`, sealed: box.seal(bytes, secretContext) }
}

const urlColumns = ({ box, webhooks }: Deps, url: string): Pick<WebhookRow, 'url' | 'origin'> => {
  const reason = webhooks.outbound.whyNot(url)
  if (reason !== undefined) throw invalid('url', reason)
  return { url: box.seal(Buffer.from(url), urlContext), origin: new URL(url).origin }
}

/** @returns the webhook with its secret, which is not shown again @throws DomainError invalid_input, conflict */
export async function createWebhook(
  deps: Deps,
  { teamId, actor }: Of,
  { url, events }: { url: string; events: readonly WebhookType[] | undefined },
): Promise<WebhookView & { secret: string }> {
  const at = iso(deps.clock.now())
  const columns = urlColumns(deps, url)
  const { secret, sealed } = newSecret(deps.box)
  const row = await deps.db.write(async (trx) => {
    if (!(await findTeam(trx, teamId))) throw notFound('team')
    if ((await webhooksOfTeam(trx, teamId)).length >= perTeam)
      throw conflict(`The team already has ${perTeam} webhooks, which is the maximum. Remove one first.`)
    const of = { teamId, ...columns, secret: sealed, events: storedTypes(events), createdAt: at }
    const made = await insertWebhook(trx, of)
    await audit(trx, { row: made, actor, at, verb: 'create', detail: { events: typesOf(made.events) } })
    return made
  })
  await deps.webhooks.changed()
  return { ...(await viewOf(deps, row, true)), secret }
}

interface WebhookChange {
  url?: string | undefined
  events?: readonly WebhookType[] | undefined
  disabled?: boolean | undefined
}

/**
 * While a webhook is disabled, nothing is recorded for it, and pending deliveries are dropped.
 * @throws DomainError not_found, invalid_input
 */
export async function editWebhook(
  deps: Deps,
  actor: Actor,
  id: number,
  { url, events, disabled }: WebhookChange,
): Promise<WebhookView> {
  const at = iso(deps.clock.now())
  ownOf(actor, await findWebhook(deps.db.read, id), 'webhook')
  // Deliveries that were pending when it was disabled are obsolete.
  if (disabled === false) await dropWaiting(deps, id)
  const columns = url === undefined ? {} : urlColumns(deps, url)
  await deps.db.write(async (trx) => {
    const before = ownOf(actor, await findWebhook(trx, id), 'webhook')
    const isSwitched = disabled !== undefined && disabled !== (before.disabledAt !== null)
    const change = {
      ...columns,
      ...(events === undefined ? {} : { events: storedTypes(events) }),
      ...(isSwitched && disabled ? { disabledAt: at, disabledReason: byOperator } : {}),
      ...(isSwitched && !disabled ? { disabledAt: null, disabledReason: null } : {}),
    }
    if (Object.keys(change).length === 0) return
    await updateWebhook(trx, id, change)
    const row = { ...before, ...columns }
    const detail = {
      ...(url === undefined ? {} : { previousOrigin: before.origin }),
      ...(events === undefined ? {} : { events }),
      ...(isSwitched ? { disabled } : {}),
    }
    await audit(trx, { row, actor, at, verb: 'edit', detail })
  })
  await deps.webhooks.changed()
  if (disabled) await dropWaiting(deps, id)
  const row = await findWebhook(deps.db.read, id)
  if (!row) throw notFound('webhook')
  return viewOf(deps, row, true)
}

/** @returns the webhook with its new secret; the old one signs too for a day @throws DomainError not_found */
export async function rollSecret(
  deps: Deps,
  actor: Actor,
  id: number,
): Promise<WebhookView & { secret: string }> {
  const now = deps.clock.now()
  const { secret, sealed } = newSecret(deps.box)
  const row = await deps.db.write(async (trx) => {
    const before = ownOf(actor, await findWebhook(trx, id), 'webhook')
    const change = { secret: sealed, oldSecret: before.secret, oldSecretUntil: iso(now + oldSecretMs) }
    await updateWebhook(trx, id, change)
    await audit(trx, { row: before, actor, at: iso(now), verb: 'roll' })
    return { ...before, ...change }
  })
  await deps.webhooks.changed()
  return { ...(await viewOf(deps, row, true)), secret }
}

/** @throws DomainError not_found */
export async function removeWebhook(deps: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const row = ownOf(actor, await findWebhook(trx, id), 'webhook')
    if (!(await markRemoved(trx, id, at))) throw notFound('webhook')
    await audit(trx, { row, actor, at, verb: 'delete' })
  })
  await deps.webhooks.changed()
  await deleteRemoved(deps)
}

/**
 * Lets the daemon itself disable the webhook, unless an operator was faster.
 * @param url only if it still has this URL
 */
export async function disableFailing(
  deps: Omit<Deps, 'webhooks'>,
  id: number,
  reason: string,
  url?: string,
): Promise<void> {
  const { db, clock, box, webhookEvents } = deps
  const at = iso(clock.now())
  const isDisabled = await db.write(async (trx) => {
    const row = await findWebhook(trx, id)
    if (!row || (url !== undefined && urlOf(box, row) !== url)) return false
    if (!(await disableWebhook(trx, { id, at, reason }))) return false
    const actor = { name: 'daemon', requestId: null }
    await audit(trx, { row, actor, at, verb: 'disable', detail: { reason } })
    return true
  })
  if (!isDisabled) return
  await webhookEvents.load(db.read)
  await dropWaiting(deps, id)
}

/** Never includes the path or query of a URL. */
const audit = (
  trx: Queries,
  of: { row: WebhookRow; actor: Actor; at: string; verb: string; detail?: Record<string, unknown> },
): Promise<unknown> =>
  recordChange(trx, {
    at: of.at,
    actor: of.actor,
    teamId: of.row.teamId,
    action: `webhooks.${of.verb}`,
    target: `${of.row.id} ${of.row.origin}`,
    detail: of.detail ?? {},
  })
