import { onTestFinished } from 'vitest'
import { PoapProvider } from '../../../src/daemon/badges/poap.ts'
import type { PoapConfig } from '../../../src/daemon/badges/poap-deps.ts'
import type { BadgeImage, NewBadgeEvent } from '../../../src/daemon/badges/provider.ts'
import {
  createOutbound,
  type OutboundAnswer,
  type OutboundRequest,
} from '../../../src/daemon/outbound/outbound.ts'
import { inPieces, png } from './image-bytes.ts'
import { PoapStandIn } from './stand-in.ts'

export const secretCode = '012345'
export const alice = '0x1111111111111111111111111111111111111111'
export const bob = '0x2222222222222222222222222222222222222222'

export const newEvent: NewBadgeEvent = {
  name: 'Opening',
  description: 'Doors open at nine.',
  city: 'Buenos Aires',
  country: 'Argentina',
  startDate: '2026-03-01',
  endDate: '2026-03-02',
  expiryDate: '2026-04-01',
  eventUrl: 'https://tapchip.example/opening',
  virtualEvent: false,
  privateEvent: true,
  requestedCodes: 5,
  maxPerRecipient: 1,
}

export function imageOf(bytes: Buffer, type: BadgeImage['type'] = 'image/png'): BadgeImage {
  const extension = type === 'image/png' ? 'png' : 'gif'
  return { type, extension, size: bytes.length, bytes: () => inPieces(bytes, 65_536) }
}

/**
 * A stand-in of POAP with the client that it is for. Both have a clock that only waiting moves.
 * @param instead answers a call in the place of the network, where it answers at all
 */
export async function openPoapClient(
  config: Partial<PoapConfig> = {},
  instead: (request: OutboundRequest) => Promise<OutboundAnswer> | undefined = () => undefined,
) {
  let now = Date.parse('2026-03-01T12:00:00Z')
  const slept: number[] = []
  const poap = await PoapStandIn.open(() => now)
  onTestFinished(() => poap.close().catch(() => undefined))
  const outbound = createOutbound({ allowPrivate: [poap.url], timeoutMs: 10_000, maxBytes: 1_000_000 })
  const usual = poap.config
  const { timeoutMs = usual.timeoutMs, ...others } = config
  const provider = new PoapProvider(
    {
      ...usual,
      ...others,
      // A time that is short ends what is held. All else may take as long as a busy machine takes.
      get timeoutMs() {
        return poap.isHolding ? timeoutMs : usual.timeoutMs
      },
    },
    {
      send: (request) => instead(request) ?? outbound.request(request),
      clock: { now: () => now, monotonic: () => now },
      sleep: async (ms) => {
        slept.push(ms)
        now += ms
      },
      random: () => 0,
    },
  )
  const advance = (ms: number) => {
    now += ms
  }
  /** An event at the stand-in with its codes. */
  const openEvent = async (fields: Partial<NewBadgeEvent> = {}) => {
    const created = await provider.create({ ...newEvent, ...fields }, imageOf(png()), secretCode)
    if (created.kind !== 'created') throw new Error(`not created: ${JSON.stringify(created)}`)
    const codes = poap.approve(created.upstreamId)
    const [code = '', second = ''] = codes
    return { id: created.upstreamId, codes, code, second }
  }
  return { poap, provider, slept, now: () => now, advance, openEvent }
}
