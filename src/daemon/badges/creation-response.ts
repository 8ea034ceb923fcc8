import { monthFirst } from './dates.ts'
import type { CreationResponse, NewBadgeEvent } from './provider.ts'

/**
 * A provider's answer for an event it accepts unchanged. Fields missing from POAP's answer are filled from it.
 */
export function creationResponse(
  event: NewBadgeEvent,
  created: { id: number; imageUrl: string },
): CreationResponse {
  const year = Number(event.startDate.slice(0, 4))
  return {
    id: created.id,
    fancy_id: fancyId(event.name, year, created.id),
    name: event.name,
    description: event.description,
    city: event.city,
    country: event.country,
    event_url: event.eventUrl,
    image_url: created.imageUrl,
    animation_url: '',
    year,
    start_date: monthFirst(event.startDate),
    end_date: monthFirst(event.endDate),
    expiry_date: monthFirst(event.expiryDate),
    from_admin: false,
    virtual_event: event.virtualEvent,
    event_template_id: 0,
    private_event: event.privateEvent,
  }
}

/** POAP's format (`example-event-2022`); the id distinguishes events of the same name. */
function fancyId(name: string, year: number, id: number): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 200)
    .replace(/^-+|-+$/g, '')
  return [words || 'event', year, id].join('-')
}
