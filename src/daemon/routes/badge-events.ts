import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { newBadgeEvent } from '../contract/badge-events.ts'
import { type Endpoints, endpoints } from '../contract/index.ts'
import { assignBadgeEvent, undoAssignments } from '../domain/badge-events/assign.ts'
import {
  type CreatedBadgeEvent,
  contentHash,
  createBadgeEvent,
  createdBefore,
} from '../domain/badge-events/create.ts'
import type { IncomingImage } from '../domain/badge-events/image.ts'
import { badgeMinted, reserveBadge } from '../domain/badge-events/mint.ts'
import {
  assertImageShown,
  type ImagePlace,
  imagePlace,
  showBadgeEvent,
} from '../domain/badge-events/public-event.ts'
import { notFound } from '../domain/errors/errors.ts'
import { bind, bindAll, type Call, limited } from '../http/bind.ts'
import { openToPages } from '../http/cors.ts'
import { checkForm, readForm } from '../http/multipart.ts'
import { answerOnce } from '../http/repeatable.ts'
import type { Context } from '../process/context.ts'
import { pick } from './wire-shapes.ts'

const creation = 'POST /badge-events'

/** Routes with JSON bodies. */
export function badgeEventRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /badge-events/:id': async ({ params, keyTeam }) => {
      const { event, status, image } = await showBadgeEvent(ctx, params.id, keyTeam)
      return {
        ...pick(event, 'id', 'name', 'description', 'city', 'country', 'startDate', 'endDate', 'expiryDate'),
        poapEventId: event.upstreamId,
        imageUrl: imageUrl(ctx, image),
        eventURL: event.eventUrl,
        virtualEvent: event.virtualEvent === 1,
        status,
      }
    },
    'POST /badge-events/assign': async ({ body, query, teamId, actor }) => {
      const { poapEventId: badgeEventId, tagUID, contractAddress, chainId, tokenId, ...rest } = body
      const to =
        tagUID != null
          ? { uid: tagUID }
          : {
              token: {
                contractAddress: contractAddress ?? '',
                chainId: chainId ?? 0,
                tokenId: tokenId ?? '',
              },
            }
      const { startsAt, endsAt, title, description } = rest
      const outcome = await assignBadgeEvent(
        ctx,
        { teamId, actor },
        {
          badgeEventId,
          to,
          startsAt: startsAt ?? undefined,
          endsAt: endsAt ?? undefined,
          title: title ?? undefined,
          description: description ?? undefined,
        },
      )
      const report = { unchanged: outcome === 'unchanged', replaced: outcome === 'replaced' }
      return { success: true as const, ...(query.report ? report : {}) }
    },
    'POST /badge-events/assign/undo': ({ body, query, teamId, actor }) => {
      const assignments = body.assignments.map(({ tagUID: uid, poapEventId: badgeEventId }) => ({
        uid,
        badgeEventId,
      }))
      const { batch } = body
      return undoAssignments(ctx, { teamId, actor }, { batch, assignments, dryRun: query.dryRun ?? false })
    },
    'POST /badge-events/mint': ({ body, code, once }) =>
      once({
        scope: { code },
        record: (idempotency) =>
          reserveBadge(
            ctx,
            { code, idempotency },
            {
              recipient: body.recipient,
              eventId: body.poapEventId,
              deviceId: body.deviceId ?? undefined,
            },
          ),
        answer: async (claim) => {
          await badgeMinted(ctx, claim ?? 0)
          return { success: true as const }
        },
      }),
  })
  imageRoute(app, ctx)
}

/** Routes with form bodies. */
export function badgeEventFormRoutes(app: FastifyInstance, ctx: Context): void {
  bind(app, ctx, creation, async (call) => {
    const incoming = ctx.badges.images.receive()
    try {
      return await create(ctx, call, incoming)
    } finally {
      incoming.close()
    }
  })
}

type CreateCall = Pick<Call<Endpoints[typeof creation]>, 'request' | 'query' | 'teamId' | 'actor'>

async function create(ctx: Context, { request, query, teamId, actor }: CreateCall, incoming: IncomingImage) {
  const spec = endpoints[creation]
  const sum = createHash('sha256')
  const form = await readForm(request.headers, request.raw, {
    fields: Object.keys(newBadgeEvent.shape),
    file: 'image',
    maxBytes: spec.bodyLimit,
    take: (chunk) => {
      sum.update(chunk)
      return incoming.take(chunk)
    },
  })
  const fields = checkForm(newBadgeEvent, form, 'image')
  const image = await incoming.end()
  const { eventURL: eventUrl = '', privateEvent = false, maxPerRecipient = 1, ...event } = fields
  let created: CreatedBadgeEvent | undefined
  // An Idempotency-Key covers the fields and the image together.
  const input = { ...fields, image: sum.digest('hex') }
  const newEvent = { ...event, eventUrl, privateEvent, maxPerRecipient }
  const hash = contentHash(newEvent, input.image)
  return answerOnce(
    ctx,
    { spec, request, key: creation, input },
    {
      scope: { teamId },
      record: async (idempotency, recorded) => {
        const requester = { teamId, actor, idempotency, recorded }
        created = await createBadgeEvent(ctx, requester, {
          event: newEvent,
          image,
          content: { hash, isOnce: query.once === true },
        })
        return created.id
      },
      answer: async (recorded) => {
        const { id, keepsImage, isUnchanged, response } = created ?? (await createdBefore(ctx, recorded ?? 0))
        const image_url = keepsImage ? imageUrl(ctx, await imagePlace(ctx, id)) : response.image_url
        return { id, poapResponse: { ...response, image_url }, ...(isUnchanged ? { unchanged: true } : {}) }
      },
    },
  )
}

export const imageUrl = (ctx: Pick<Context, 'baseUrl' | 'wire'>, image: ImagePlace): string =>
  'url' in image ? image.url : `${ctx.baseUrl}${ctx.wire.word('/badge-events')}${image.path}`

/** Images of the embedded provider's events. They never change. */
function imageRoute(app: FastifyInstance, ctx: Context): void {
  app.get(
    `${ctx.wire.word('/badge-events')}/:id/image`,
    { config: { ...limited, isPicture: true, ...openToPages } },
    async (request, reply) => {
      const { id = '' } = { ...(request.params as Record<string, string>) }
      if (!/^[1-9]\d{0,14}$/.test(id)) throw notFound('image')
      const { file } = request.query as Record<string, unknown>
      await assertImageShown(ctx, Number(id), typeof file === 'string' ? file : undefined)
      const { type, size, bytes } = await ctx.badges.images.open(ctx, Number(id))
      return reply
        .header('cache-control', 'public, max-age=86400, immutable')
        .header('x-content-type-options', 'nosniff')
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('cross-origin-resource-policy', 'cross-origin')
        .header('content-disposition', 'inline')
        .type(type)
        .header('content-length', size)
        .send(bytes)
    },
  )
}
