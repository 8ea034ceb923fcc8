import type { LedgerEvent } from './ledger.ts'

type NewEvent = Omit<LedgerEvent, 'id' | 'isOpen' | 'codes' | 'createdDate'>

const required = {
  name: 256,
  description: 1500,
  city: 256,
  country: 256,
  start_date: 10,
  end_date: 10,
  expiry_date: 10,
  virtual_event: 5,
  email: 256,
  secret_code: 6,
}

/** Reads POST /events with the runtime's own parser of forms, so that it checks ours. @returns what is wrong, or the event */
export async function readEventForm(contentType: string, body: Buffer): Promise<string | NewEvent> {
  if (!/^multipart\/form-data; *boundary=/.test(contentType)) return 'the request is not multipart'
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => undefined)
  if (!form) return 'Multipart: Unexpected end of form'
  const fields: Record<string, string> = {}
  for (const [name, value] of form) {
    if (name in fields) return `body/${name} given twice`
    // POAP's own client writes out what it was not given.
    if (typeof value === 'string' && value !== 'undefined' && value !== 'null') fields[name] = value
  }
  for (const [name, longest] of Object.entries(required)) {
    const value = fields[name]
    if (value === undefined) return `body should have required property '${name}'`
    if ([...value].length > longest) return `body/${name} should NOT have more than ${longest} characters`
  }
  if (!/^[0-9]{6}$/.test(fields.secret_code ?? ''))
    return 'body/secret_code should match pattern "^[0-9]{6}$"'
  for (const name of ['virtual_event', 'private_event', 'notify_issuer'])
    if (!['true', 'false', undefined].includes(fields[name])) return `body/${name} should be boolean`
  if (!/^\d+$/.test(fields.requested_codes ?? '0')) return 'body/requested_codes should be number'
  const days = readDays(fields)
  if (typeof days === 'string') return days
  const image = await readImage(form.get('image'))
  if (typeof image === 'string') return image
  const { secret_code: secretCode = '', requested_codes = '0' } = fields
  return { fields, days, image, secretCode, requestedCodes: Number(requested_codes) }
}

function readDays(fields: Record<string, string>): string | NewEvent['days'] {
  const [start, end, expiry] = ['start_date', 'end_date', 'expiry_date'].map((name) => readDate(fields[name]))
  if (!start || !end || !expiry) return 'body/start_date should match format YYYY-MM-DD or MM-DD-YYYY'
  if (end < start) return 'end_date must be after start_date'
  return expiry < end ? 'expiry_date must be after end_date' : { start, end, expiry }
}

function readDate(text = ''): string | undefined {
  const day = text.replace(/^(\d{2}-\d{2})-(\d{4})$/, '$2-$1')
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day) ? day : undefined
}

const signatures: readonly (readonly [string, RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
]

async function readImage(file: File | string | null): Promise<string | NewEvent['image']> {
  if (file === null) return "body should have required property 'image'"
  if (typeof file === 'string') return 'body/image should be a file'
  if (file.size >= 4 * 1024 * 1024) return 'image should be smaller than 4MB'
  const head = Buffer.from(await file.slice(0, 12).arrayBuffer()).toString('latin1')
  const type = signatures.find(([, pattern]) => pattern.test(head))?.[0]
  return type === undefined || type !== file.type ? 'image format is not valid' : { type, size: file.size }
}
