import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { chipText, flag, integer, name, success, team, text, timestamp, uid } from '../fields.ts'
import { list, shortList } from '../list.ts'

const hex = (bytes: number) =>
  z
    .string()
    .max(2 * bytes, `must be at most ${bytes} bytes`)
    .regex(/^([0-9a-fA-F]{2})*$/, 'must be hex')

const station = text(64)
  .regex(/^[\w-]+$/, 'must be letters, digits, - and _')
  .optional()

const sheetProgress = () => z.object({ rows: z.number(), taken: z.number() })
const sheetRun = () =>
  sheetProgress().extend({
    /** The name to pass when opening a session. */
    run: z.number(),
    openedAt: timestamp,
    /** Set once every row has a chip, or the sheet was started over. */
    closedAt: timestamp.nullable(),
  })
const run = integer(1)

const detailFields = {
  label: chipText('label').optional(),
  item: chipText('item').optional(),
  variant: chipText('variant').optional(),
  redirectUrl: chipText('redirectUrl').nullable().optional(),
}

const nfcStatus = z.enum(['provisioned', 'unchanged', 'factory', 'failed'])
const nfcCounts = () =>
  z.object({ provisioned: z.number(), unchanged: z.number(), factory: z.number(), failed: z.number() })

const nfcOutcome = () =>
  z.object({
    status: nfcStatus,
    uid: z.string().nullable(),
    keySet: z.number().nullable(),
    /** The URL on the chip, with zeros where the chip fills in values. */
    url: z.string().nullable(),
    /** For failures: `code` is for programs, `error` for people. */
    code: z.string().optional(),
    error: z.string().optional(),
    /** Set if the chip is ready but differs from the request. */
    warning: z.string().optional(),
    /** With a sheet, for a chip that is ready: its row. */
    row: z.number().optional(),
    sheet: sheetProgress().optional(),
  })

const nfcStep = () =>
  z.object({
    id: z.string(),
    /** Echo this in the reply. */
    step: z.number(),
    next: z.union([
      z.object({
        type: z.literal('apdus'),
        /** Send them in order, until an answer has a status other than 9000, 9100, and 91AF. */
        apdus: z.array(z.string()),
        /** The card must not be lifted between `inspect` and `read-back`. */
        phase: z.enum(['inspect', 'set-up', 'read-back']),
      }),
      z.object({
        type: z.literal('inspected'),
        uid: z.string(),
        isBlank: z.boolean(),
        hasOpenPlan: z.boolean(),
        registered: z.object({ label: z.string().nullable(), keySet: z.number().nullable() }).nullable(),
        /**
         * With a sheet: the row for this chip, counted from 1. Null: every row has a chip or is held by another
         * session. Sent again with another row if the named one is not free, or its label is on another chip.
         */
        row: z.number().nullable(),
        sheet: sheetProgress().nullable(),
        /** The row named by the last details went to the chip that already has its label. */
        passed: z.object({ row: z.number(), uid: z.string(), chipGroup: z.string() }).optional(),
      }),
      z.object({ type: z.literal('ended'), outcome: nfcOutcome() }),
    ]),
  })

/** The daemon talks to a card on a remote reader, so that chip keys never leave it and only APDUs travel. */
export const nfc = {
  'POST /admin/nfc/sessions': adminEndpoint({
    id: 'openNfcSession',
    summary: 'Start to set up, recover, or reset the chip on a reader; answers the first commands for it',
    scope: 'provision',
    body: () =>
      z.object({
        purpose: z.enum(['provision', 'recover', 'reset'], 'must be provision, recover or reset'),
        /**
         * A random ID of the computer and user at the reader. A chip held by a session of the same station is taken
         * over at once; one held by another station, after two seconds of silence. Until then the outcome is `failed`
         * with code `chip_busy`.
         */
        station,
        /** The reader's name, for people who look on: see stations. */
        reader: text(200).optional(),
        /** The largest Lc that the reader passes, if it refused a longer command with 6F00. */
        maxLc: integer(59, 255).optional(),
        /** Which chips may be set up from factory keys: those signed by NXP, these and virtual ones, or any. */
        originality: z.enum(['genuine', 'emulated', 'any'], 'must be genuine, emulated or any').optional(),
        /** Assigns each chip a row of this run of a sheet. Needs waitForDetails. */
        sheet: z.object({ run }).optional(),
        /** Identifies a card that is not a supported tag. */
        atr: hex(64).optional(),
        ...team,
        keySet: integer(0, 0xffffffff).optional(),
        /** A name or an ID; a missing group is created. */
        chipGroup: text(200).optional(),
        /** Give new keys to a chip that is already set up. */
        rekey: flag.optional(),
        /** Refuse another chip than this one. */
        uid: uid.optional(),
        /**
         * Keys 0 to 4 of a chip that another system set up, to reset it or, with rekey, to set it up. They are tried
         * only if a tap does not show that they are wrong, and kept encrypted until the chip is done.
         */
        keys: shortList(z.string().regex(/^[0-9a-fA-F]{32}$/, 'must be 32 hex digits'), {
          max: 5,
        }).optional(),
        /** Try the public keys of blank chips on a chip whose key versions are not 0. */
        tryFactoryKeys: flag.optional(),
        /** Write the base URL even if its check fails. */
        acceptUrl: flag.optional(),
        /** The text behind {enc}. Default, here and below: what the chip has; empty: nothing. */
        fileData: z.string().max(128, 'must have at most 128 characters').optional(),
        /** The package of an Android app that a tap opens, in a record behind the URL. */
        aar: z
          .string()
          .max(128, 'must have at most 128 characters')
          .regex(/^([A-Za-z]\w*(\.[A-Za-z]\w*)+)?$/, 'must be the name of a package, such as com.example.app')
          .optional(),
        /** A text record behind the URL. */
        text: z.string().max(128, 'must have at most 128 characters').optional(),
        /** Pause once the chip is known, and take its details from the reply. */
        waitForDetails: flag.optional(),
        ...detailFields,
      }),
    response: nfcStep,
    noStore: true,
  }),
  'POST /admin/nfc/sessions/:id/answers': adminEndpoint({
    dryRun: 'input',
    id: 'answerNfcSession',
    summary: "Send the card's answers, or the details for an inspected chip; answers the next commands",
    scope: 'provision',
    params: () => z.object({ id: text(64) }),
    body: () =>
      z.object({
        step: integer(),
        /** The card's answers, including their status bytes, up to the first that failed. */
        answers: shortList(hex(4096)).optional(),
        details: z
          .object({
            ...detailFields,
            rekey: flag.optional(),
            /** With a sheet, the row of the details: that of `inspected`, or another free one. */
            row: integer(1).optional(),
          })
          .optional(),
      }),
    response: nfcStep,
    noStore: true,
  }),
  'DELETE /admin/nfc/sessions/:id': adminEndpoint({
    dryRun: 'input',
    id: 'closeNfcSession',
    summary: 'End a session whose card is gone; its plan stays in the journal',
    scope: 'provision',
    params: () => z.object({ id: text(64) }),
    response: success,
  }),
  'POST /admin/nfc/sheets': adminEndpoint({
    id: 'joinNfcSheet',
    summary: 'Join the run of a sheet whose rows several stations give to chips, or begin one',
    scope: 'provision',
    bodyLimit: 4 * 1024 * 1024,
    body: () =>
      z.object({
        ...team,
        /** Identical at every station with the same rows, preferably a hash of them. */
        id: name(64),
        /** Other settings of the chips, as in a session: another key set or group makes another run. */
        keySet: integer(0, 0xffffffff).optional(),
        chipGroup: text(200).optional(),
        rows: integer(1, 1_000_000),
        /** The items and variants that rows name: unknown ones are refused before the first chip is set up. */
        items: list(z.object({ item: text(64), variant: text(64).optional() })).optional(),
        /** Close the open run and begin a new one. */
        startOver: flag.optional(),
      }),
    response: sheetRun,
  }),
  'GET /admin/nfc/sheets/:run': adminEndpoint({
    id: 'showNfcSheet',
    summary: 'Tell how many rows of a run are taken, and how many sessions hold right now',
    scope: 'provision',
    params: () => z.object({ run }),
    response: () => sheetRun().extend({ held: z.number() }),
  }),
  'GET /admin/nfc/stations': adminEndpoint({
    id: 'listNfcStations',
    summary:
      'List the readers that set chips up with this daemon in the last day: what they do, counts, and failures',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.array(
        z.object({
          station: z.string(),
          reader: z.string().nullable(),
          by: z.string(),
          team: z.string().nullable().describe('null: none was named'),
          chipGroup: z.string().nullable(),
          purpose: z.enum(['provision', 'recover', 'reset']),
          isBusy: z.boolean().describe('a chip is being worked on'),
          phase: z.enum(['inspect', 'set-up', 'read-back', 'details']).nullable(),
          uid: z.string().nullable(),
          counts: nfcCounts(),
          last: z
            .object({
              at: timestamp,
              status: nfcStatus,
              uid: z.string().nullable(),
              error: z.string().nullable(),
            })
            .nullable(),
          seenAt: timestamp,
        }),
      ),
  }),
} as const
