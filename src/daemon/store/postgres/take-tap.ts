import { DatabaseUnavailable } from '../database.ts'
import { hashCode } from '../refs.ts'
import type { TapToTake } from '../tap-to-take.ts'
import { preparedNames } from './dialect.ts'
import type { Pool } from './pool.ts'
import { asUnavailable, isUnprepared, mayBeDone } from './servers.ts'

type Column = 'text' | 'bigint' | 'bytea'

interface TakingQuery {
  text: string
  values: unknown[]
  /** Depends on rows besides the chip's own, so it has to be a serializable transaction. */
  isSerializable: boolean
}

/**
 * One statement that takes valid taps of different chips, for the isolation of a server as it is installed: of those that
 * meet at a chip's row, each sees what the one before it left. It returns the chip and the ID of each tap that it took.
 *
 * All that a tap leaves exists exactly if its counter was raised, since all of it is selected from that. A tap alone
 * waits for its chip's row; several do not take those whose rows others hold, so that none holds up the rest.
 */
export function takingQuery(taps: readonly TapToTake[]): TakingQuery {
  const values: unknown[] = []
  const value = (given: unknown, type: 'text[]' | 'bigint[]' | 'bytea[]') => `$${values.push(given)}::${type}`
  const listOf = <T>(from: readonly T[], columns: Record<string, [Column, (row: T) => unknown]>) =>
    `unnest(${Object.values(columns).map(([type, of]) => value(from.map(of), `${type}[]`))})
      as made(${Object.keys(columns).map((name) => `"${name}"`)})`
  const [alone] = taps.length === 1 ? taps : []
  const parts = [
    `given as (select * from ${listOf(taps, {
      uid: ['text', ({ seen }) => seen.uid],
      teamId: ['bigint', ({ seen }) => seen.teamId],
      keySetId: ['bigint', ({ seen }) => seen.keySetId],
      generation: ['bigint', ({ seen }) => seen.generation],
      tokenRow: ['bigint', ({ seen }) => seen.tokenRow],
      redirectUrl: ['text', ({ seen }) => seen.redirectUrl],
      itemId: ['text', ({ seen }) => seen.itemId],
      counter: ['bigint', ({ tap }) => tap.counter],
      at: ['text', ({ tap }) => tap.at],
      via: ['text', ({ tap }) => tap.via],
      tamper: ['text', ({ tap }) => tap.tamper],
    })})`,
    alone
      ? ''
      : `free as materialized (select chips.uid from given join chips on chips.uid = given.uid for update of chips skip locked)`,
    `taken as (
      update chips set "lastCounter" = given.counter, "lastTapAt" = given.at from given ${alone ? '' : 'join free using (uid)'}
      where chips.uid = given.uid and chips."lastCounter" < given.counter and "catchesUp" = 0 and "disabledAt" is null
        and chips."teamId" = given."teamId" and chips."keySetId" is not distinct from given."keySetId"
        and chips.generation = given.generation and chips."tokenRow" is not distinct from given."tokenRow"
        and chips."redirectUrl" is not distinct from given."redirectUrl"
        and chips."itemId" is not distinct from given."itemId"
        ${
          alone?.events
            ? `and array(select distinct "badgeEventId" from "badgeAssignments"
                where "chipUid" = chips.uid or "tokenRow" = chips."tokenRow" order by 1) = ${value(alone.events.badges, 'bigint[]')}
              and array(select "guestbookEventId" from "guestbookAssignments"
                where "chipUid" = chips.uid order by 1) = ${value(alone.events.guestbooks, 'bigint[]')}`
            : ''
        }
      returning given.*, "chipGroupId")`,
    `tap as (
      insert into taps (at, "chipUid", "teamId", "keySetId", counter, outcome, via, tamper)
      select at, uid, "teamId", "keySetId", counter, 'valid', via, tamper from taken
      returning id, "chipUid", at, counter)`,
  ].filter((part) => part !== '')
  const refs = taps.flatMap(({ seen: { uid }, rows }) => (rows.refs ?? []).map((ref) => ({ uid, ...ref })))
  if (refs.length > 0)
    parts.push(`refs as (
      insert into refs ("idHash", kind, "chipUid", "tapId", "createdAt", "expiresAt")
      select made.id, made.kind, tap."chipUid", tap.id, tap.at, made.ends from tap join ${listOf(refs, {
        uid: ['text', ({ uid }) => uid],
        id: ['text', ({ code }) => hashCode(code)],
        kind: ['text', ({ kind }) => kind],
        ends: ['text', ({ expiresAt }) => expiresAt],
      })} on made.uid = tap."chipUid")`)
  const otps = taps.flatMap(({ seen: { uid }, rows }) => (rows.otps ?? []).map((otp) => ({ uid, ...otp })))
  if (otps.length > 0)
    parts.push(`otps as (
      insert into otps ("codeHash", type, "chipUid", "tapId", "tokenRow", "badgeEventId", "guestbookEventId",
        "createdAt", "expiresAt")
      select made.code, made.type, tap."chipUid", tap.id, made."tokenRow", made.badge, made.guestbook, tap.at, made.ends
      from tap join ${listOf(otps, {
        uid: ['text', ({ uid }) => uid],
        code: ['text', ({ code }) => hashCode(code)],
        type: ['text', ({ type }) => type],
        tokenRow: ['bigint', ({ tokenRow }) => tokenRow],
        badge: ['bigint', ({ badgeEventId }) => badgeEventId],
        guestbook: ['bigint', ({ guestbookEventId }) => guestbookEventId],
        ends: ['text', ({ expiresAt }) => expiresAt],
      })} on made.uid = tap."chipUid")`)
  const visits = taps.flatMap(({ seen: { uid }, rows: { visit } }) => (visit ? [{ uid, ...visit }] : []))
  if (visits.length > 0)
    parts.push(`visits as (
      insert into "pageVisits" ("cookieHash", "refHash", "chipUid", counter, refs, "expiresAt")
      select made.cookie, made.ref, tap."chipUid", tap.counter, made.refs, made.ends from tap join ${listOf(
        visits,
        {
          uid: ['text', ({ uid }) => uid],
          cookie: ['text', ({ cookie }) => hashCode(cookie)],
          ref: ['text', ({ refHash }) => refHash],
          refs: ['bytea', ({ refs }) => Buffer.from(refs)],
          ends: ['text', ({ expiresAt }) => expiresAt],
        },
      )} on made.uid = tap."chipUid")`)
  const messages = taps.flatMap(({ seen: { uid }, message }) =>
    message ? message.webhooks.map((webhook) => ({ uid, webhook, ...message })) : [],
  )
  if (messages.length > 0)
    parts.push(`told as (
      insert into "webhookDeliveries" ("webhookId", "messageId", type, at, "chipUid", data)
      select webhooks.id, made.message, made.type, taken.at, taken.uid, left(made.data, -1) || ',"chipGroup":'
        || coalesce((select to_json(name)::text from "chipGroups" where id = taken."chipGroupId"), 'null') || '}'
      from taken join ${listOf(messages, {
        uid: ['text', ({ uid }) => uid],
        webhook: ['bigint', ({ webhook }) => webhook],
        message: ['text', ({ messageId }) => messageId],
        type: ['text', ({ type }) => type],
        data: ['text', ({ data }) => data],
      })} on made.uid = taken.uid join webhooks on webhooks.id = made.webhook
      where webhooks."disabledAt" is null order by taken.uid, webhooks.id)`)
  const text = `with ${parts.join(',\n')}\nselect "chipUid" as uid, id from tap`
  return { text: text.replace(/\s+/g, ' '), values, isSerializable: alone?.events !== undefined }
}

/**
 * In one round trip.
 * @returns the IDs of the taps that were taken, by the chip's UID
 * @throws DatabaseError of a conflict, after which it may be tried again; DatabaseUnavailable
 */
export async function takeOn(
  pool: Pool,
  { text, values, isSerializable }: TakingQuery,
): Promise<ReadonlyMap<string, number>> {
  const name = preparedNames.of(text)
  const connection = await pool.connect('tap')
  const taking = () => connection.query({ text, values, ...(name && { name }) })
  // They go out together: none waits for the answer to the one before.
  const asked = isSerializable
    ? [
        connection.query({ text: 'begin isolation level serializable' }),
        taking(),
        connection.query({ text: 'commit' }),
      ]
    : [taking()]
  const answers = await Promise.allSettled(asked)
  const refused = answers.find((answer) => answer.status === 'rejected')
  const taken = answers[isSerializable ? 1 : 0]
  if (refused === undefined) {
    connection.release()
    const rows: { uid: string; id: number }[] = taken?.status === 'fulfilled' ? taken.value.rows : []
    return new Map(rows.map(({ uid, id }) => [uid, id]))
  }
  const error = asUnavailable(refused.reason)
  connection.release(error)
  if (isUnprepared(error)) preparedNames.off()
  // Without BEGIN it would be kept.
  const isOdd = refused === answers[0] && taken?.status === 'fulfilled'
  throw mayBeDone(refused.reason) || isOdd
    ? new DatabaseUnavailable(refused.reason, { isOutcomeUnknown: true })
    : error
}
