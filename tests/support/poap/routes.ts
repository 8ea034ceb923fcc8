import { readEventForm } from './event-form.ts'
import type { Ledger, LedgerCode, LedgerEvent } from './ledger.ts'
import { claimedBody, eventBody, lookUpBody, type WireStyle } from './wire.ts'

export interface Call {
  path: string
  query: URLSearchParams
  contentType: string
  body: Buffer
  /** The body as JSON, `{}` where there is none. */
  json: Record<string, unknown>
  /** What stood for the parts of the path in braces. */
  parts: string[]
}

export interface Reply {
  status: number
  body: unknown
}

export interface Route {
  endpoint: string
  isProtected?: true
  isForm?: true
  handle(call: Call, ledger: Ledger, style: WireStyle): Reply | Promise<Reply>
}

const ok = (body: unknown): Reply => ({ status: 200, body })
export const error = (status: 400 | 404 | 415, message: string): Reply => {
  const names = { 400: 'Bad Request', 404: 'Not Found', 415: 'Unsupported Media Type' }
  return { status, body: { statusCode: status, error: names[status], message } }
}

/** By https://documentation.poap.tech/reference, see ../../../fixtures/poap/README.md. */
export const routes: readonly Route[] = [
  {
    endpoint: 'POST /events',
    isForm: true,
    handle: async ({ contentType, body }, ledger, style) => {
      const read = await readEventForm(contentType, body)
      return typeof read === 'string' ? error(400, read) : ok(eventBody(ledger.add(read), style))
    },
  },
  {
    endpoint: 'GET /events/id/{id}',
    handle: (call, ledger, style) => withEvent(call.parts[0], ledger, (event) => ok(eventBody(event, style))),
  },
  {
    endpoint: 'POST /event/validate',
    isProtected: true,
    handle: ({ json }, ledger) =>
      withEvent(json.event_id, ledger, (event) =>
        ok({ valid: ledger.hasSecretCode(event, json.secret_code) }),
      ),
  },
  {
    endpoint: 'POST /event/{id}/qr-codes',
    isProtected: true,
    handle: ({ json, parts }, ledger) =>
      withEvent(parts[0], ledger, (event) => {
        if (!ledger.hasSecretCode(event, json.secret_code)) return error(400, 'Incorrect edit code')
        return ok(event.codes.map(({ qrHash, claim }) => ({ qr_hash: qrHash, claimed: claim !== undefined })))
      }),
  },
  {
    endpoint: 'GET /actions/claim-qr',
    isProtected: true,
    handle: ({ query }, ledger, style) =>
      withCode(query.get('qr_hash'), ledger, (code) => ok(lookUpBody(code, style))),
  },
  {
    endpoint: 'POST /actions/claim-qr',
    isProtected: true,
    handle: ({ json }, ledger, style) =>
      withCode(json.qr_hash, ledger, (code) => {
        const { address, secret, sendEmail = true } = json
        if (typeof address !== 'string') return error(400, "body should have required property 'address'")
        if (typeof sendEmail !== 'boolean') return error(400, 'body/sendEmail should be boolean')
        // POAP's own client sends none any more. One that is sent must be the one that was given.
        const given = style.secrets === 'own' ? code.secret : style.secrets
        if (secret !== undefined && secret !== given) return error(400, 'Invalid secret')
        const problem = ledger.claim(code, address, sendEmail)
        return problem === undefined ? ok(claimedBody(code, style)) : error(400, problem)
      }),
  },
  {
    endpoint: 'POST /redeem-requests',
    isProtected: true,
    handle: ({ json }, ledger) =>
      withEvent(json.event_id, ledger, (event) => {
        if (!ledger.hasSecretCode(event, json.secret_code)) return error(400, 'Incorrect edit code')
        if (json.redeem_type !== 'qr_code')
          return error(400, 'body/redeem_type should be equal to one of the allowed values')
        if (!Number.isInteger(json.requested_codes))
          return error(400, 'body/requested_codes should be number')
        event.requestedCodes += Number(json.requested_codes)
        event.isOpen = true
        return ok({ id: String(ledger.nextId()) })
      }),
  },
  {
    endpoint: 'GET /redeem-requests/active/count',
    handle: ({ query }, ledger) =>
      withEvent(query.get('event_id'), ledger, (event) =>
        ok(event.isOpen ? [{ active: 1, type: 'qr_code' }] : []),
      ),
  },
  {
    endpoint: 'GET /actions/scan/{address}/{eventId}',
    handle: ({ parts: [address = '', id] }, ledger, style) =>
      withEvent(id, ledger, (event) => {
        const owner = ledger.resolve(address)?.toLowerCase()
        const held = event.codes.find(({ claim }) => claim?.beneficiary.toLowerCase() === owner)
        if (held?.token === undefined) return error(404, 'Address does not have this POAP')
        return ok({
          event: eventBody(event, style),
          tokenId: String(held.token),
          owner: held.claim?.beneficiary,
        })
      }),
  },
  {
    endpoint: 'GET /transactions',
    handle: ({ query }, ledger) => {
      const transactions = [...(ledger.code(query.get('qr_hash') ?? '')?.transactions ?? [])].reverse()
      return ok({ total: transactions.length, transactions })
    },
  },
  { endpoint: 'GET /health-check', handle: () => ok({ status: 'ok' }) },
]

function withEvent(id: unknown, ledger: Ledger, then: (event: LedgerEvent) => Reply): Reply {
  const event = ledger.events.get(Number(id))
  return event ? then(event) : error(404, 'Event not found')
}

function withCode(qrHash: unknown, ledger: Ledger, then: (code: LedgerCode) => Reply): Reply {
  if (typeof qrHash !== 'string' || qrHash === '')
    return error(400, "should have required property 'qr_hash'")
  const code = ledger.code(qrHash)
  return code ? then(code) : error(404, 'Qr Claim not found')
}
