import type { FastifyInstance } from 'fastify'
import {
  assertBadge,
  badgeOf,
  badgesOf,
  type PoapBadge,
  type PoapEvent,
  showAsPoap,
} from '../domain/badge-events/public-event.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { imageUrl } from './badge-events.ts'

export function poapReadRoutes(app: FastifyInstance, ctx: Context): void {
  const onWire = ({ response, image }: PoapEvent) => ({ ...response, image_url: imageUrl(ctx, image) })
  const badgeOnWire = ({ tokenId, owner, claimedAt, ...shown }: PoapBadge) => ({
    event: onWire(shown),
    tokenId,
    owner,
    // These badges are on no chain.
    chain: 'embedded',
    created: claimedAt.slice(0, 19).replace('T', ' '),
  })
  bindAll(app, ctx, {
    'GET /events/id/:id': async ({ params, keyTeam }) => onWire(await showAsPoap(ctx, params.id, keyTeam)),
    'GET /metadata/:eventId/:tokenId': async ({ params, keyTeam }) => {
      const { event, image, response } = await showAsPoap(ctx, params.eventId, keyTeam)
      await assertBadge(ctx, params)
      const url = imageUrl(ctx, image)
      const attributes = Object.entries({
        startDate: event.startDate,
        endDate: event.endDate,
        virtualEvent: String(response.virtual_event),
        city: event.city,
        country: event.country,
        eventURL: event.eventUrl,
      })
      return {
        name: event.name,
        description: event.description,
        image: url,
        image_url: url,
        external_url: `${ctx.baseUrl}/metadata/${params.eventId}/${params.tokenId}`,
        home_url: event.eventUrl,
        year: response.year,
        tags: ['poap', 'event'],
        attributes: attributes.map(([trait_type, value]) => ({ trait_type, value })),
      }
    },
    'GET /actions/scan/:address': async ({ params, keyTeam }) =>
      (await badgesOf(ctx, params.address, keyTeam)).map(badgeOnWire),
    'GET /actions/scan/:address/:eventId': async ({ params: { address, eventId }, keyTeam }) =>
      badgeOnWire(await badgeOf(ctx, { address, upstreamId: eventId }, keyTeam)),
  })
}
