import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const tapchip = process.env.TAPCHIP_URL ?? 'http://127.0.0.1:8484'
const page = readFileSync(new URL('index.html', import.meta.url))

/**
 * What a browser's taps gave, by its cookie and by the chip: `{ recipient, chips, latest }`. In memory: one server, and a
 * restart forgets them.
 */
const visits = new Map()

/** Asks Tapchip. What it refuses is thrown: `{ statusCode, code, message }`. */
async function ask(path, code, body) {
  const headers = { 'content-type': 'application/json', 'x-svc-code': code, 'idempotency-key': path }
  const request = body && { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(tapchip + path, request).catch(() => {
    throw { statusCode: 503, code: 'unreachable', message: 'We cannot be reached right now. Try again.' }
  })
  const answer = await response.json()
  if (!response.ok) throw answer
  return answer
}

/** The chip sent a phone here. A ref is good for one query, so it is made here, where no page can repeat it. */
async function tapped(ref, visit) {
  const known = [...visit.chips].find(([, chip]) => chip.ref === ref)?.[0]
  if (known) {
    visit.latest = known // The address was loaded again.
    return
  }
  const { isValidRef, ...tap } = await ask(`/refs/${encodeURIComponent(ref)}?includeMetadata=true`)
  if (!isValidRef)
    throw { statusCode: 410, code: 'ref_used', message: 'This tap was used before. Tap the chip again.' }
  const { results = {} } = visit.chips.get(tap.uid) ?? {}
  // Every tap brings new codes, so what was done with the last one's can be done again.
  for (const [name, { state, ...result }] of Object.entries(results))
    results[name] = { ...result, state: state === 'registered' ? 'tapped-again' : state, again: true }
  visit.chips.delete(tap.uid)
  visit.chips.set(tap.uid, { ref, tap, results })
  visit.latest = tap.uid
  if (visit.chips.size > 20) visit.chips.delete(visit.chips.keys().next().value)
}

const actions = {
  /** Two taps: the code of the first registers the recipient, the code of a later one moves the token. */
  async claim({ tap }, recipient) {
    const code = tap.linkedToken?.otp ?? tap.otp
    try {
      const { initialTxHash } = await ask('/phygitals/transfer/pullable', code, { recipient })
      return { state: 'sent', hash: initialTxHash }
    } catch (refusal) {
      // The code is still good after each of these.
      if (!['registration_missing', 'registration_expired'].includes(refusal.code)) throw refusal
      const { allowedAt } = await ask('/phygitals/claim-registration/pullable', code, { recipient })
      return { state: 'registered', allowedAt }
    }
  },
  async badge({ tap }, recipient) {
    const { id, otp } = tap.badgeEvents[0]
    await ask('/badge-events/mint', otp, { recipient, poapEventId: id })
    return { state: 'done' }
  },
  async guestbook({ tap }, recipient) {
    const { txnHash } = await ask('/events/mint/self', tap.guestbookEvents[0].otp, { recipient })
    return { state: 'sent', hash: txnHash }
  },
}

/** What the page may know: everything but the codes. */
const shown = (recipient, { tap, results } = { results: {} }) => ({
  chip: tap?.uid,
  recipient,
  results,
  token: tap && (tap.linkedToken || tap.otp) ? (tap.linkedToken?.metadata ?? {}) : null,
  badge: tap?.badgeEvents[0] ? { status: tap.badgeEvents[0].status } : null,
  guestbook: Boolean(tap?.guestbookEvents[0]),
})

async function answer(request, url, visit) {
  const [, what, name] = url.pathname.split('/')
  if (request.method === 'GET' && what === 'visit')
    return shown(visit.recipient, visit.chips.get(visit.latest))
  if (request.method === 'GET' && what === 'transactions')
    return ask(`/transactions/${encodeURIComponent(name)}`)
  if (request.method !== 'POST' || what !== 'actions' || !Object.hasOwn(actions, name))
    throw { statusCode: 404 }
  let text = ''
  for await (const piece of request) {
    text += piece
    if (text.length > 1000) throw { statusCode: 413 }
  }
  const { recipient, chip: uid = visit.latest } = JSON.parse(text)
  // The page says which chip it shows: another one may have been tapped since, in another tab.
  const chip = visit.chips.get(uid)
  if (!chip) throw { statusCode: 409, code: 'no_tap', message: 'Tap the chip first.' }
  // Done already, and only the answer was lost on its way.
  if (chip.results[name] && !chip.results[name].again) return chip.results[name]
  visit.recipient = String(recipient)
  const act = actions[name]
  chip.results[name] = await act(chip, visit.recipient)
  return chip.results[name]
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const id = /(?:^|; )visit=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1]
  const visit = visits.get(id) ?? { chips: new Map() }
  const send = (status, type, body, more) =>
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...more }).end(body)
  try {
    if (url.pathname === '/') return send(200, 'text/html; charset=utf-8', page)
    if (url.pathname !== '/tap')
      return send(200, 'application/json', JSON.stringify(await answer(request, url, visit)))
    // A browser that only guesses that the address will be opened must not use the ref up.
    if (request.method !== 'GET' || request.headers['sec-purpose']) return send(503, 'text/plain', '')
    const refusal = await tapped(url.searchParams.get('svcRef') ?? '', visit).catch((error) => error)
    if (refusal) {
      const code = refusal.statusCode === 503 ? 'unreachable' : refusal.code
      return send(303, 'text/plain', '', { location: `/?refused=${code}` })
    }
    const kept = visits.has(id) ? id : randomUUID()
    visits.set(kept, visit)
    if (visits.size > 10_000) visits.delete(visits.keys().next().value)
    // The ref goes out of the address: the page can be loaded again, shared, and gone back to.
    send(303, 'text/plain', '', {
      location: '/',
      'set-cookie': `visit=${kept}; HttpOnly; SameSite=Lax; Path=/`,
    })
  } catch (error) {
    const { statusCode = 500, code, message } = error
    if (statusCode === 500) console.error(error)
    send(statusCode, 'application/json', JSON.stringify({ code, message }))
  }
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
)
