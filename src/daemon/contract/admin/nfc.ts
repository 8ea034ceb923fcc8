import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, integer, page, success, team, text, timestamp, uid } from '../fields.ts'

const hex = (bytes: number) =>
  z
    .string()
    .max(2 * bytes, `must be at most ${bytes} bytes`)
    .regex(/^([0-9a-fA-F]{2})*$/, 'must be hex')

/** What a chip gets in the registry beside its keys. */
const detailFields = {
  label: text(200).optional(),
  item: text(64).optional(),
  variant: text(64).optional(),
  redirectUrl: text(4096).nullable().optional(),
}

const keySource = z.union([z.literal('factory'), z.object({ keySet: z.number(), generation: z.number() })])

const nfcOutcome = z.object({
  status: z.enum(['provisioned', 'unchanged', 'factory', 'failed']),
  uid: z.string().nullable(),
  keySet: z.number().nullable(),
  /** As it stands on the chip, with zeros where the chip fills in. */
  url: z.string().nullable(),
  /** Of a failure: for programs, and for people. */
  code: z.string().optional(),
  error: z.string().optional(),
  /** Of a chip that ended well, and not in all as it was asked for. */
  warning: z.string().optional(),
})

const nfcStep = z.object({
  id: z.string(),
  /** Goes into the reply. */
  step: z.number(),
  next: z.union([
    z.object({
      type: z.literal('apdu'),
      apdu: z.string(),
      /** `inspect`, `set-up` or `read-back`: in between the card must not be lifted. */
      phase: z.enum(['inspect', 'set-up', 'read-back']),
    }),
    z.object({
      type: z.literal('inspected'),
      uid: z.string(),
      isBlank: z.boolean(),
      hasOpenPlan: z.boolean(),
      registered: z.object({ label: z.string().nullable(), keySet: z.number().nullable() }).nullable(),
    }),
    z.object({ type: z.literal('ended'), outcome: nfcOutcome }),
  ]),
})

/** The daemon talks with a card on somebody's reader: chip keys stay here, and APDUs travel. */
export const nfc = {
  'POST /admin/nfc/sessions': adminEndpoint({
    summary: 'Begin to set up, recover or reset the chip on a reader; answers the first command for it',
    scope: 'provision',
    body: z.object({
      purpose: z.enum(['provision', 'recover', 'reset'], 'must be provision, recover or reset'),
      /** Of the card, to name one that is no tag. */
      atr: hex(64).optional(),
      ...team,
      keySet: integer(0, 0xffffffff).optional(),
      /** A name or an id; a group that is missing is made. */
      chipGroup: text(200).optional(),
      /** Give a chip that is set up new keys. */
      rekey: flag.optional(),
      /** Lock the base URL into the chip whatever answers there. */
      acceptUrl: flag.optional(),
      /** Stop once the chip is known, and take what it gets from the reply. */
      waitForDetails: flag.optional(),
      ...detailFields,
    }),
    response: nfcStep,
    noStore: true,
  }),
  'POST /admin/nfc/sessions/:id/answers': adminEndpoint({
    summary: "Hand over the card's answer, or what an inspected chip is to get; answers the next command",
    scope: 'provision',
    params: z.object({ id: text(64) }),
    body: z.object({
      step: integer(),
      /** The card's answer, its status bytes included. */
      answer: hex(4096).optional(),
      details: z.object({ ...detailFields, rekey: flag.optional() }).optional(),
    }),
    response: nfcStep,
    noStore: true,
  }),
  'DELETE /admin/nfc/sessions/:id': adminEndpoint({
    summary: 'End a session whose card is gone; what was begun stays in the journal',
    scope: 'provision',
    params: z.object({ id: text(64) }),
    response: success,
  }),
  'GET /admin/nfc/journal': adminEndpoint({
    summary: 'List the plans of chips that are not finished, newest first, or with all=true every plan',
    scope: 'read',
    query: z.object({ uid: uid.optional(), all: flag.optional(), ...page }),
    response: z.array(
      z.object({
        id: z.number(),
        uid: z.string(),
        purpose: z.enum(['provision', 'reset']),
        from: z.array(keySource),
        target: keySource,
        url: z.string().nullable(),
        openedAt: timestamp,
        openedBy: z.string(),
        problem: z.string().nullable(),
        closedAt: timestamp.nullable(),
        closedBy: z.string().nullable(),
        outcome: z.enum(['done', 'untouched', 'superseded', 'given-up']).nullable(),
      }),
    ),
  }),
  'DELETE /admin/nfc/journal/:uid': adminEndpoint({
    summary: 'Give a chip up that will not come back: its keys no longer hold their key set',
    scope: 'keys',
    params: z.object({ uid }),
    response: success,
  }),
} as const
