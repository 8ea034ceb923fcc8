import type { LedgerCode, LedgerEvent } from './ledger.ts'

/** How dates are written: POAP has been seen with all of them. */
export type DateStyle = 'DD-Mon-YYYY' | 'MM-DD-YYYY' | 'YYYY-MM-DD' | 'ISO'

export interface WireStyle {
  dates: DateStyle
  /** As the reference has it (with animation_url and a template), or as live answers are. */
  events: 'documented' | 'live'
  secrets: 'own' | 'NOT_REQUIRED_ANYMORE'
  /** Whether a look-up says who has a code. */
  names: 'shown' | 'hidden'
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function date(day: string, style: DateStyle): string {
  const [year = '', month = '', date = ''] = day.split('-')
  if (style === 'DD-Mon-YYYY') return `${date}-${months[Number(month) - 1]}-${year}`
  if (style === 'MM-DD-YYYY') return `${month}-${date}-${year}`
  return style === 'ISO' ? `${day}T00:00:00.000Z` : day
}

export function eventBody(event: LedgerEvent, style: WireStyle): Record<string, unknown> {
  const { fields, days } = event
  const documented = {
    id: event.id,
    fancy_id: `${fields.name?.toLowerCase().replace(/[^a-z0-9]+/g, '-')}-${days.start.slice(0, 4)}`,
    name: fields.name,
    description: fields.description,
    city: fields.city,
    country: fields.country,
    event_url: fields.event_url ?? '',
    image_url: `https://assets.poap.xyz/${event.id}.${event.image.type.split('/')[1]}`,
    year: Number(days.start.slice(0, 4)),
    start_date: date(days.start, style.dates),
    end_date: date(days.end, style.dates),
    expiry_date: date(days.expiry, style.dates),
    from_admin: false,
    virtual_event: fields.virtual_event === 'true',
    private_event: fields.private_event === 'true',
  }
  if (style.events === 'documented') return { ...documented, animation_url: '', event_template_id: 1 }
  return {
    ...documented,
    location_type: fields.virtual_event === 'true' ? 'virtual' : 'in-person',
    channel: '',
    platform: '',
    timezone: 'UTC',
    created_date: event.createdDate,
    event_template_id: null,
  }
}

const claimBody = (code: LedgerCode, style: WireStyle) => ({
  id: code.id,
  qr_hash: code.qrHash,
  event_id: code.event.id,
  beneficiary: style.names === 'shown' ? (code.claim?.beneficiary ?? '') : '',
  user_input: style.names === 'shown' ? (code.claim?.input ?? '') : '',
  signer: '0x00000000000000000000000000000000000000aa',
  claimed: code.claim !== undefined,
  claimed_date: code.claim?.at ?? '',
  created_date: code.event.createdDate,
  is_active: code.isActive,
  event: eventBody(code.event, style),
  delegated_mint: false,
  delegated_signed_message: null,
})

export const lookUpBody = (code: LedgerCode, style: WireStyle) => ({
  ...claimBody(code, style),
  secret: style.secrets === 'own' ? code.secret : style.secrets,
  tx_hash: code.transactions.at(-1)?.tx_hash ?? '',
  tx_status: code.transactions.at(-1)?.status ?? '',
  result: code.token === undefined ? null : { token: code.token },
})

export const claimedBody = (code: LedgerCode, style: WireStyle) => ({
  ...claimBody(code, style),
  queue_uid: `queue-${code.id}`,
  transaction_request_id: code.id,
})
