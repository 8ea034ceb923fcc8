import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import type { EndpointKey } from '../../src/daemon/contract/index.ts'
import { eventForm } from './badges.ts'
import { keySets } from './nfc.ts'
import { ownerEdit } from './owner-edit.ts'
import { chipUid, openPhygitals, phygitalSeed } from './phygitals.ts'
import { acmeKey, derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

// A request to each endpoint that changes something, which would succeed, and each time by things of its own.

export interface WritingRequest {
  url: string
  body?: object
  payload?: Buffer | string
  headers?: Record<string, string>
}

/** Left out, each for a reason. */
export const leftOut: Partial<Record<EndpointKey, string>> = {
  'POST /phygitals/transfer/check': 'changes nothing',
  'POST /admin/backup': 'is refused on a server',
  'POST /admin/root-token/roll': 'writes a file, and ends its own credential',
  'POST /admin/nfc/sessions': 'holds a reader, in memory and for a moment: tests/fleet/provisioning.test.ts',
  'DELETE /admin/nfc/sessions/:id': 'ends what is in memory',
  'POST /admin/nfc/sessions/:id/answers': 'is a conversation with a card: tests/fleet/provisioning.test.ts',
  'DELETE /admin/nfc/journal/:uid':
    'needs a chip that was left half way: tests/daemon/admin-nfc-guards.test.ts',
  'POST /admin/webhook-deliveries/:id/redeliver': 'needs a delivery that was given up',
  ...Object.fromEntries(
    ['/batches', '/admin/batches'].flatMap((root) =>
      [
        `POST ${root}`,
        `DELETE ${root}/:id`,
        ...['rows', 'files/:hash', 'plan', 'start', 'approve', 'pause', 'resume', 'cancel', 'undo'].map(
          (step) => `POST ${root}/:id/${step}`,
        ),
      ].map((key) => [key, 'answers the batch as it is when it is sent again: tests/daemon/batches']),
    ),
  ),
}

const [acme, other] = phygitalSeed.teams
const spare = (n: number) => chipUid(10_000 + n)
const visitor = (n: number) => chipUid(20_000 + n)
const visitors = 12

const seedOf = (spares: number) => ({
  ...phygitalSeed,
  keySets: [derived, keySets.a],
  teams: [
    {
      ...acme,
      chipGroups: [
        ...(acme?.chipGroups ?? []),
        {
          name: 'Spare',
          chips: Array.from({ length: spares }, (_, n) => ({ uid: spare(n), keySet: 101, item: 'jacket' })),
        },
        {
          name: 'Visitors',
          chips: Array.from({ length: visitors }, (_, n) => ({ uid: visitor(n), keySet: 101 })),
        },
      ],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: [
            {
              name: 'Opening',
              tokenId: '1',
              metadata: { name: 'Opening' },
              chips: Array.from({ length: visitors }, (_, n) => visitor(n)),
            },
          ],
        },
      ],
    },
    other,
  ],
})

/** A piece that the first team keeps for somebody. @returns its ID */
export async function reservationOf(
  { ctx }: Pick<Awaited<ReturnType<typeof openPhygitals>>, 'ctx'>,
  { uid, tapId }: { uid: string; tapId: number },
): Promise<number> {
  const chipUid = BigInt(`0x${uid}`).toString()
  const team = await ctx.db.read
    .selectFrom('teams')
    .select('id')
    .where('name', '=', 'Acme')
    .executeTakeFirstOrThrow()
  const [at, endsAt] = ['2026-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z']
  const kept = {
    ...{ tapId, chipUid, teamId: team.id, tokenRow: null, round: 0, state: 'kept' as const },
    ...{ address: Buffer.from('sealed'), addressHash: 'hash', language: 'en', nonce: `n${tapId}` },
    ...{ codeUntil: at, asks: 1, tries: 1, claims: 1, left: 1, keptAt: at, endsAt, createdAt: at },
  }
  await ctx.db.write((trx) => trx.insertInto('reservations').values(kept).execute())
  return tapId
}

/** @param env of the daemon, such as another address of its database @param spares chips for requests that use one up */
export async function openWorld(env: Record<string, string>, spares = 1500) {
  const p = await openPhygitals({ seed: seedOf(spares), env })
  const owner = privateKeyToAccount(generatePrivateKey())
  const key = { 'x-svc-api-key': acmeKey }
  let made = 0
  const next = () => {
    made += 1
    return made
  }
  const wallet = () => `0x${next().toString(16).padStart(40, '3')}`
  const json = async (method: string, url: string, body?: object, headers: object = p.admin) => {
    const answer = await p.app.inject({
      ...{ method: method as 'POST', url, headers: { ...headers } },
      ...(body && { payload: body }),
    })
    if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.body}`)
    return answer.json()
  }
  const newSpare = () => spare(next() % spares)
  let visits = 0
  const nextTap = () => {
    visits += 1
    const counter = Math.ceil(visits / visitors)
    return tapPath(tap(derived, { uid: visitor(visits % visitors) }, counter))
  }
  const visitRef = async () => {
    const page = await p.app.inject({ url: nextTap() })
    return /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
  }
  const codesOfVisit = async () => json('GET', `/refs/${await visitRef()}`)
  const claimCode = async () => p.code(newSpare())
  const name = (of: string) => `${of} ${next()}`
  const chipNumber = (uid: string) => BigInt(`0x${uid}`).toString()
  const team = () => json('POST', '/admin/teams', { name: name('Team') })
  const item = () => json('POST', '/admin/items', { team: 'Acme', id: `item-${next()}`, name: 'Item' })
  const group = () => json('POST', '/admin/chip-groups', { team: 'Acme', name: name('Group') })
  const hook = async () =>
    json('POST', '/admin/webhooks', {
      team: (await team()).name,
      url: 'https://hook.acme.example/',
      events: ['badge.minted'],
    })
  const lines = (rows: readonly object[], to: Record<string, string>) => ({
    payload: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    headers: { ...to, 'content-type': 'application/x-ndjson' },
  })
  const rows = async (chipGroup = name('Imported')) => {
    const uid = chipUid(1_000_000 + next())
    const url = `/admin/chips/import?team=Acme&chipGroup=${encodeURIComponent(chipGroup)}&keySet=101&simulated=true`
    return { uid, url, ...lines([{ uid }, { uid: chipUid(2_000_000 + next()) }], p.admin) }
  }
  const imported = async () => {
    const { uid, url, payload, headers } = await rows()
    await p.app.inject({ method: 'POST', url, payload, headers })
    return chipNumber(uid)
  }
  const contractIds = async () => p.ctx.db.read.selectFrom('contracts').select(['id', 'symbol']).execute()
  const contractId = async (symbol: string) => (await contractIds()).find((one) => one.symbol === symbol)?.id
  const guestbookEvent = async () =>
    (await p.ctx.db.read.selectFrom('guestbookEvents').select('id').orderBy('id').execute())[0]?.id
  const badge = async (more: Record<string, string> = {}) => {
    const today = new Date().toISOString().slice(0, 10)
    const later = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)
    const dates = { startDate: today, endDate: later, expiryDate: later }
    return eventForm({ name: name('Badge'), requestedCodes: '50', ...dates, ...more })
  }
  const badgeEvent = async () => {
    const form = await badge()
    const answer = await p.app.inject({
      method: 'POST',
      url: '/badge-events',
      ...form,
      headers: { ...form.headers, ...key },
    })
    return answer.json().id as number
  }
  const approved = async () => {
    const id = await badgeEvent()
    await p.app.inject({ method: 'POST', url: `/admin/badge-events/${id}/approve`, headers: p.admin })
    return id
  }
  const metadata = () =>
    JSON.stringify({
      ...{
        name: name('Jacket'),
        collection: '',
        description: '',
        image: '',
        attributes: [],
        media_gallery: [],
      },
    })
  const batchId = () => `b_${next().toString(36).padStart(14, '0')}`
  const keySet = (id: number) => ({
    ...{
      id,
      metaReadKey: '1d3c5b7a99f8e7d6c5b4a39281706f5e',
      fileReadKey: '2e4d6c8baa09f8e7d6c5b4a392817060',
    },
    ...{ diversification: 'an10922', systemIdentifier: '54617063686970', macInputFrom: 'd' },
  })
  const to = (n: number | string, recipient = wallet()) => ({ ...p.token('JKT', n), recipient })
  const ofMine = { headers: key }
  const ofAdmin = { headers: p.admin }
  const by = (code: string) => ({ headers: { 'x-svc-code': code } })
  const linked = async () => {
    const uid = await imported()
    await json('POST', `/admin/chips/${uid}/link`, { item: 'jacket' })
    return uid
  }

  const requests: Partial<Record<EndpointKey, () => Promise<WritingRequest>>> = {
    'GET /chips/find': async () => ({
      url: tapPath(tap(derived, { uid: newSpare() }, 10_000 + next()), '/chips/find'),
    }),
    'POST /admin/taps/verify': async () => {
      const { e, c, d } = tap(derived, { uid: newSpare() }, 10_000 + next())
      return { url: '/admin/taps/verify', ...ofAdmin, body: { parameters: { e, c, d } } }
    },
    'GET /refs/:id': async () => ({ url: `/refs/${await visitRef()}` }),
    'PATCH /chips': async () => ({
      ...{ url: '/chips', ...ofMine },
      body: { tagUIDs: [chipNumber(newSpare())], updates: { redirectUrl: `https://acme.example/${next()}` } },
    }),
    'PATCH /chips/self-service': async () => {
      const redirectUrl = `https://owner.example/${next()}`
      const requestExpiryTime = Math.floor(Date.now() / 1000) + 300
      const typed = ownerEdit(p.addressOf('JKT'), 1, redirectUrl, requestExpiryTime)
      const ownerSignature = await owner.signTypedData(typed)
      return {
        url: '/chips/self-service',
        body: { ...p.token('JKT', 1), updates: { redirectUrl }, requestExpiryTime, ownerSignature },
      }
    },
    'POST /chips/batch': async () => ({
      url: '/chips/batch',
      ...lines([{ uid: chipNumber(newSpare()), redirectUrl: `https://acme.example/${next()}` }], key),
    }),
    'DELETE /otps/:id': async () => ({ url: `/otps/${await claimCode()}`, ...ofMine }),
    'POST /phygitals/transfer': async () => ({ url: '/phygitals/transfer', ...ofMine, body: to(2) }),
    'POST /phygitals/transfer/pullable': async () => ({
      ...{ url: '/phygitals/transfer/pullable', ...by(await claimCode()), body: { recipient: wallet() } },
    }),
    'POST /phygitals/transfer/self-service': async () => ({
      ...{ url: '/phygitals/transfer/self-service', ...ofMine },
      body: { tagUID: chipNumber(newSpare()), recipient: wallet() },
    }),
    'GET /phygitals/transfer-signature': async () => ({
      url: `/phygitals/transfer-signature?${new URLSearchParams({ ...to(3), chainId: '31337' })}`,
      ...ofMine,
    }),
    'GET /phygitals/transfer-signature/pullable': async () => ({
      url: `/phygitals/transfer-signature/pullable?recipient=${wallet()}`,
      ...by(await claimCode()),
    }),
    'POST /phygitals/claim-registration': async () => ({
      ...{ url: '/phygitals/claim-registration', ...ofMine, body: to(4) },
    }),
    'POST /phygitals/claim-registration/pullable': async () => ({
      ...{
        url: '/phygitals/claim-registration/pullable',
        ...by(await claimCode()),
        body: { recipient: wallet() },
      },
    }),
    'DELETE /phygitals/claim-registration': async () => {
      const body = to(4)
      await json('POST', '/phygitals/claim-registration', body, key)
      return { url: '/phygitals/claim-registration', ...ofMine, body }
    },
    'PATCH /phygitals/metadata': async () => ({
      ...{ url: '/phygitals/metadata', ...ofMine, body: { ...p.token('JKT', 5), metadata: metadata() } },
    }),
    'POST /events/contracts': async () => ({
      ...{
        url: '/events/contracts',
        ...ofMine,
        body: { name: 'Guests', symbol: `G${next()}`, chainId: 31337 },
      },
    }),
    'POST /events': async () => ({
      ...{ url: '/events', ...ofMine },
      body: {
        name: name('Event'),
        tokenId: String(100 + next()),
        contractId: await contractId('GB'),
        metadata: metadata(),
      },
    }),
    'PATCH /events/metadata': async () => ({
      ...{
        url: '/events/metadata',
        ...ofMine,
        body: { eventId: await guestbookEvent(), metadata: metadata() },
      },
    }),
    'POST /events/mint': async () => ({
      ...{ url: '/events/mint', ...ofMine, body: { eventId: await guestbookEvent(), recipient: wallet() } },
    }),
    'POST /events/mint/self': async () => ({
      ...{ url: '/events/mint/self', ...by((await codesOfVisit()).guestbookEvents[0].otp) },
      body: { recipient: wallet() },
    }),
    'POST /events/assign/legacy': async () => ({
      ...{ url: '/events/assign/legacy', ...ofMine },
      body: { tagUIDs: [chipNumber(newSpare())], guestbookEventId: await guestbookEvent() },
    }),
    'POST /events/toggle-pause-state': async () => ({
      ...{ url: '/events/toggle-pause-state', ...ofMine },
      body: { contractId: await contractId('GB'), pauseState: next() % 2 === 0 },
    }),
    'POST /phygitals/transfer/batch': async () => ({
      url: '/phygitals/transfer/batch',
      ...lines([{ uid: chipNumber(newSpare()), recipient: wallet() }, to(6)], key),
    }),
    'POST /phygitals/metadata/batch': async () => ({
      url: '/phygitals/metadata/batch',
      ...lines([{ ...p.token('JKT', 7), metadata: JSON.parse(metadata()) }], key),
    }),
    'POST /badge-events': async () => {
      const { payload, headers } = await badge()
      return { url: '/badge-events', payload, headers: { ...headers, ...key } }
    },
    'POST /badge-events/assign': async () => ({
      ...{ url: '/badge-events/assign', ...ofMine },
      body: { poapEventId: await approved(), tagUID: chipNumber(newSpare()) },
    }),
    'POST /badge-events/assign/undo': async () => {
      const [poapEventId, tagUID, batch] = [await approved(), chipNumber(newSpare()), batchId()]
      const ofBatch = { ...key, 'x-tapchip-batch': batch }
      await json('POST', '/badge-events/assign', { poapEventId, tagUID }, ofBatch)
      return {
        url: '/badge-events/assign/undo',
        ...ofMine,
        body: { batch, assignments: [{ tagUID, poapEventId }] },
      }
    },
    'POST /badge-events/mint': async () => {
      const [poapEventId, uid] = [await approved(), newSpare()]
      await json('POST', '/badge-events/assign', { poapEventId, tagUID: chipNumber(uid) }, key)
      const { badgeEvents } = await p.tapped(uid)
      return {
        url: '/badge-events/mint',
        ...by(badgeEvents[0].otp),
        body: { recipient: wallet(), poapEventId },
      }
    },
    'POST /admin/teams': async () => ({ url: '/admin/teams', ...ofAdmin, body: { name: name('Team') } }),
    'PATCH /admin/teams/:id': async () => ({
      ...{ url: `/admin/teams/${(await team()).id}`, ...ofAdmin, body: { transactionsPerDay: 1000 } },
    }),
    'DELETE /admin/teams/:id': async () => ({ url: `/admin/teams/${(await team()).id}`, ...ofAdmin }),
    'POST /admin/api-keys': async () => ({
      ...{ url: '/admin/api-keys', ...ofAdmin, body: { team: 'Acme', name: name('key'), scopes: ['read'] } },
    }),
    'DELETE /admin/api-keys/:id': async () => {
      const { id } = await json('POST', '/admin/api-keys', {
        team: 'Acme',
        name: name('key'),
        scopes: ['read'],
      })
      return { url: `/admin/api-keys/${id}`, ...ofAdmin }
    },
    'POST /admin/api-keys/:id/roll': async () => {
      const { id } = await json('POST', '/admin/api-keys', {
        team: 'Acme',
        name: name('key'),
        scopes: ['read'],
      })
      return { url: `/admin/api-keys/${id}/roll`, ...ofAdmin, body: { overlapSeconds: 0 } }
    },
    'POST /admin/admin-tokens': async () => ({
      ...{ url: '/admin/admin-tokens', ...ofAdmin, body: { name: name('token'), scopes: ['read'] } },
    }),
    'POST /admin/admin-tokens/:id/roll': async () => {
      const body = { team: 'Acme', name: name('token'), scopes: ['read'] }
      const { id } = await json('POST', '/admin/admin-tokens', body)
      return { url: `/admin/admin-tokens/${id}/roll`, ...ofAdmin, body: { overlapSeconds: 0 } }
    },
    'DELETE /admin/admin-tokens/:id': async () => {
      const body = { team: 'Acme', name: name('token'), scopes: ['read'] }
      const { id } = await json('POST', '/admin/admin-tokens', body)
      return { url: `/admin/admin-tokens/${id}`, ...ofAdmin }
    },
    'POST /admin/key-sets': async () => ({ url: '/admin/key-sets', ...ofAdmin, body: keySet(5000 + next()) }),
    'DELETE /admin/key-sets/:id': async () => {
      const body = keySet(5000 + next())
      await json('POST', '/admin/key-sets', body)
      return { url: `/admin/key-sets/${body.id}`, ...ofAdmin }
    },
    'POST /admin/chip-groups': async () => ({
      ...{ url: '/admin/chip-groups', ...ofAdmin, body: { team: 'Acme', name: name('Group') } },
    }),
    'PATCH /admin/chip-groups/:id': async () => ({
      ...{ url: `/admin/chip-groups/${(await group()).id}`, ...ofAdmin, body: { name: name('Group') } },
    }),
    'DELETE /admin/chip-groups/:id': async () => ({
      ...{ url: `/admin/chip-groups/${(await group()).id}`, ...ofAdmin },
    }),
    'POST /admin/chips/import': async () => rows(),
    'POST /admin/chips/import/undo': async () => {
      const { uid, url, payload, headers } = await rows()
      const batch = batchId()
      await p.app.inject({ method: 'POST', url, payload, headers: { ...headers, 'x-tapchip-batch': batch } })
      return { url: '/admin/chips/import/undo', ...ofAdmin, body: { batch, uids: [chipNumber(uid)] } }
    },
    'POST /admin/chips/:uid/link': async () => ({
      ...{ url: `/admin/chips/${await imported()}/link`, ...ofAdmin, body: { item: 'jacket' } },
    }),
    'POST /admin/chips/:uid/unlink': async () => ({
      ...{ url: `/admin/chips/${await linked()}/unlink`, ...ofAdmin, body: { item: true } },
    }),
    'POST /admin/chips/:uid/replace': async () => ({
      ...{ url: `/admin/chips/${await linked()}/replace`, ...ofAdmin, body: { with: await imported() } },
    }),
    'POST /admin/chips/:uid/notes': async () => ({
      ...{ url: `/admin/chips/${await imported()}/notes`, ...ofAdmin, body: { text: 'Repaired in Oslo' } },
    }),
    'DELETE /admin/chips/:uid/notes/:id': async () => {
      const notes = `/admin/chips/${await imported()}/notes`
      return { url: `${notes}/${(await json('POST', notes, { text: 'Gone' })).id}`, ...ofAdmin }
    },
    'POST /admin/chips/:uid/disable': async () => ({
      ...{ url: `/admin/chips/${await imported()}/disable`, ...ofAdmin, body: { reason: 'lost' } },
    }),
    'POST /admin/chips/:uid/enable': async () => {
      const uid = await imported()
      await json('POST', `/admin/chips/${uid}/disable`, { reason: 'lost' })
      return { url: `/admin/chips/${uid}/enable`, ...ofAdmin }
    },
    'DELETE /admin/chips/:uid': async () => ({ url: `/admin/chips/${await imported()}`, ...ofAdmin }),
    'POST /admin/chips/:uid/simulate': async () => ({
      ...{ url: `/admin/chips/${await imported()}/simulate`, ...ofAdmin, body: { count: 1 } },
    }),
    'POST /admin/chips/apply': async () => ({
      url: '/admin/chips/apply?team=Acme',
      ...lines([{ uid: await imported(), label: name('L') }], p.admin),
    }),
    'POST /admin/items': async () => ({
      ...{ url: '/admin/items', ...ofAdmin, body: { team: 'Acme', id: `item-${next()}`, name: 'Item' } },
    }),
    'PATCH /admin/items/:id': async () => ({
      ...{ url: `/admin/items/${(await item()).id}`, ...ofAdmin, body: { team: 'Acme', name: name('Item') } },
    }),
    'DELETE /admin/items/:id': async () => ({
      url: `/admin/items/${(await item()).id}?team=Acme`,
      ...ofAdmin,
    }),
    'PUT /admin/pages/strings': async () => ({
      ...{ url: '/admin/pages/strings', ...ofAdmin },
      body: { team: 'Other', strings: { en: { readOn: `More ${next()}` } } },
    }),
    'POST /admin/links': async () => ({
      ...{ url: '/admin/links', ...ofAdmin },
      body: { team: 'Other', label: name('Link'), baseUrl: `https://other.example/${next()}` },
    }),
    'DELETE /admin/links/:id': async () => {
      const { id } = await json('POST', '/admin/links', {
        team: 'Other',
        label: name('Link'),
        baseUrl: 'https://other.example/',
      })
      return { url: `/admin/links/${id}`, ...ofAdmin }
    },
    'DELETE /admin/reservations/:id': async () => {
      const kept = await reservationOf(p, { uid: spare(0), tapId: 1_000_000 + next() })
      return { url: `/admin/reservations/${kept}`, ...ofAdmin }
    },
    'POST /admin/badge-events/:id/approve': async () => ({
      ...{ url: `/admin/badge-events/${await badgeEvent()}/approve`, ...ofAdmin },
    }),
    'POST /admin/badge-events/:id/reject': async () => ({
      ...{ url: `/admin/badge-events/${await badgeEvent()}/reject`, ...ofAdmin },
    }),
    'POST /admin/contracts': async () => ({
      ...{ url: '/admin/contracts', ...ofAdmin },
      body: { team: 'Acme', symbol: `C${next()}`, name: 'Foreign', chainId: 31337, address: wallet() },
    }),
    'POST /admin/contracts/deploy': async () => ({
      ...{ url: '/admin/contracts/deploy', ...ofAdmin },
      body: { team: 'Acme', symbol: `D${next()}`, name: 'Deployed', chainId: 31337 },
    }),
    'PATCH /admin/contracts/:id': async () => ({
      ...{ url: `/admin/contracts/${await contractId('JKT')}`, ...ofAdmin },
      body: { twoTap: next() % 2 === 0 ? null : { delaySeconds: 0, windowSeconds: 600 + next() } },
    }),
    'DELETE /admin/contracts/:id': async () => {
      const symbol = `E${next()}`
      const body = { team: 'Acme', symbol, name: 'Foreign', chainId: 31337, address: wallet() }
      await json('POST', '/admin/contracts', body)
      return { url: `/admin/contracts/${await contractId(symbol)}`, ...ofAdmin }
    },
    'POST /admin/contracts/:id/service-url': async () => ({
      ...{
        url: `/admin/contracts/${await contractId('JKT')}/service-url`,
        ...ofAdmin,
        body: { force: true },
      },
    }),
    'POST /admin/transactions/:id/cancel': async () => {
      // On a chain that nobody sends to, so that it stays queued.
      const call = { to: p.addressOf('JKT'), data: '0x' as const }
      const intent = {
        chainId: 999,
        call,
        kind: 'test',
        subject: {},
        teamId: 1,
        now: Date.now(),
      }
      const id = await p.ctx.db.write((trx) => recordIntent(trx, intent))
      return { url: `/admin/transactions/${id}/cancel`, ...ofAdmin, body: { reason: 'no more' } }
    },
    'POST /admin/nfc/sheets': async () => ({
      ...{ url: '/admin/nfc/sheets', ...ofAdmin },
      body: { team: 'Acme', id: name('sheet'), keySet: 201, chipGroup: 'Jackets', rows: 3 },
    }),
    'POST /admin/webhooks': async () => ({
      ...{ url: '/admin/webhooks', ...ofAdmin },
      body: { team: (await team()).name, url: 'https://hook.acme.example/', events: ['badge.minted'] },
    }),
    'PATCH /admin/webhooks/:id': async () => ({
      ...{ url: `/admin/webhooks/${(await hook()).id}`, ...ofAdmin, body: { disabled: true } },
    }),
    'DELETE /admin/webhooks/:id': async () => ({ url: `/admin/webhooks/${(await hook()).id}`, ...ofAdmin }),
    'POST /admin/webhooks/:id/roll': async () => ({
      url: `/admin/webhooks/${(await hook()).id}/roll`,
      ...ofAdmin,
    }),
    'POST /admin/webhooks/:id/test': async () => ({
      url: `/admin/webhooks/${(await hook()).id}/test`,
      ...ofAdmin,
    }),
  }
  /** A form of a page whose codes are made already. @param accept as a browser asks, or the page's script */
  const pressed = async (accept: string, ref: string, fields: Record<string, string>) => {
    const url = '/t/act'
    const headers = { accept, 'content-type': 'application/x-www-form-urlencoded' }
    const form = (recipient: string) => new URLSearchParams({ ref, id: '0', ...fields, recipient }).toString()
    await p.app.inject({ method: 'POST', url, headers, payload: form('nobody') })
    return { url, headers, payload: form(wallet()) }
  }
  const byScript = 'application/json'
  const byForm = 'text/html'
  const entry = async () => ({ kind: 'guestbook', id: String(await guestbookEvent()) })
  /** Of people with a phone, by what they do. */
  const pages: Record<string, { method: 'GET' | 'POST'; prepare: () => Promise<WritingRequest> }> = {
    'a tap': { method: 'GET', prepare: async () => ({ url: nextTap(), headers: { accept: byForm } }) },
    'a claim by a form': {
      ...{
        method: 'POST',
        prepare: async () => pressed(byForm, await p.refOf(newSpare()), { kind: 'claim' }),
      },
    },
    'a claim by the script': {
      method: 'POST',
      prepare: async () => pressed(byScript, await p.refOf(newSpare()), { kind: 'claim' }),
    },
    'a guestbook entry by a form': {
      ...{ method: 'POST', prepare: async () => pressed(byForm, await visitRef(), await entry()) },
    },
    'a guestbook entry by the script': {
      ...{ method: 'POST', prepare: async () => pressed(byScript, await visitRef(), await entry()) },
    },
  }
  await json('POST', '/phygitals/transfer', { ...p.token('JKT', 1), recipient: owner.address }, key)
  await p.settled()
  return { ...p, requests, pages }
}
