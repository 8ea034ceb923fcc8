import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, page, success, team, timestamp, uid } from '../fields.ts'

/** Without the e-mail address: nobody is shown it. */
const reservationOnWire = () =>
  z.object({
    id: z.number(),
    team: z.string(),
    uid: z.string(),
    claim: z.boolean().describe('nobody else can claim the token meanwhile'),
    left: z.number().describe('things that have no wallet yet: a claim, badges, guestbook entries'),
    mail: z.enum(['queued', 'sent', 'failed']).describe('the newest mail about it'),
    keptAt: timestamp,
    endsAt: timestamp,
  })

export const reservations = {
  'GET /admin/reservations': adminEndpoint({
    id: 'listReservations',
    summary: 'List what is kept for people by e-mail, newest first; never their addresses',
    scope: 'read',
    query: () => z.object({ ...team, uid: uid.optional(), ...page }),
    response: () => z.array(reservationOnWire()),
  }),
  'DELETE /admin/reservations/:id': adminEndpoint({
    id: 'releaseReservation',
    summary: 'Release what is kept for somebody by e-mail; their link ends, and their address is forgotten',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const
