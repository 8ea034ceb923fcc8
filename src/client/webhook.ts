import type { verifyWebhook as Declared, Webhook } from './api.d.ts'
import { invalid, TapchipError } from './error.ts'

/** More than a receiver ever gets: each costs a computation that a stranger can ask for. */
const maxSignatures = 20

const refused = (message: string): TapchipError => new TapchipError('webhook_invalid', message)

export const verifyWebhook: typeof Declared = async (body, headers, secret, options = {}) => {
  const bytes = bytesOf(body)
  const header = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : valueIn(headers, name)
    if (typeof value === 'string' && value !== '') return value
    throw refused(`The header ${name} is missing: this is not a delivery, or a proxy removed it.`)
  }
  const id = header('webhook-id')
  const timestamp = header('webhook-timestamp')
  const tolerance = options.toleranceSeconds ?? 300
  const skewSeconds = Math.abs((options.at ?? new Date()).getTime() / 1000 - Number(timestamp))
  if (!/^\d{1,15}$/.test(timestamp) || !(skewSeconds <= tolerance))
    throw refused(
      `webhook-timestamp is not within ${tolerance} seconds of this clock: a replayed delivery, or a wrong clock.`,
    )
  const signatures = header('webhook-signature')
    .split(' ')
    .slice(0, maxSignatures)
    .flatMap((one) => (one.startsWith('v1,') ? [bytesOfBase64(one.slice(3))] : []))
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  const secrets = [secret].flat().map(secretBytes)
  if (secrets.length === 0) throw invalid('There is no secret to verify with.')
  for (const raw of secrets) {
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ])
    // Compares in constant time.
    for (const signature of signatures)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return read(id, bytes)
  }
  throw refused(
    'No signature matches: the secret belongs to another webhook, or the body was changed (verify it before anything parses it).',
  )
}

function read(id: string, bytes: Uint8Array): Webhook {
  try {
    return { id, ...JSON.parse(new TextDecoder().decode(bytes)) }
  } catch {
    throw refused('The body is signed, but it is not JSON.')
  }
}

/** Node's `request.headers`, or an object in which somebody wrote the names as in the documentation. */
function valueIn(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  return Array.isArray(value) ? value[0] : value
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body))
    return new Uint8Array(new Uint8Array(body.buffer, body.byteOffset, body.byteLength))
  throw invalid('body must be the raw text or bytes that arrived, not a parsed value.')
}

function secretBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = bytesOfBase64(
    String(secret)
      .trim()
      .replace(/^whsec_/, ''),
  )
  if (bytes && bytes.length > 0) return bytes
  throw invalid('The secret must be whsec_ and Base64, as it was shown when the webhook was created.')
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}
