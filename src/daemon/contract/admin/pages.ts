import * as z from 'zod'
import { pageLanguages } from '../../../values/page-languages.ts'
import { adminEndpoint } from '../endpoint.ts'
import { name, team, text } from '../fields.ts'
import { brandFields } from './teams.ts'

/** A value that is not saved; empty: the page's own. Absent: the team's. */
const tried = <F extends z.ZodType>(field: F) =>
  z
    .literal('')
    .transform(() => null)
    .or(field)
    .optional()

export const pages = {
  'GET /admin/pages/preview': adminEndpoint({
    id: 'previewPages',
    summary: 'Render the states of the tap page',
    description:
      "Every state that a person who taps can see, with sample data, the team's look, and an item's own data if one is named. `brand…` tries a look without saving it, checked as the edit of a team is. No chip, no tap; the forms of these pages send nothing.",
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        /** ID of an item of the team. */
        item: name(64).optional(),
        /** Only this one. */
        state: text(60).optional(),
        language: z
          .enum(pageLanguages, `must be one of ${pageLanguages.join(', ')}`)
          .default(pageLanguages[0]),
        /** Whatever the device prefers. */
        scheme: z.enum(['light', 'dark']).optional(),
        brandName: tried(brandFields.name.unwrap().unwrap()),
        brandColor: tried(brandFields.color.unwrap().unwrap()),
        brandBackground: tried(brandFields.background.unwrap().unwrap()),
        brandLogoUrl: tried(brandFields.logoUrl.unwrap().unwrap()),
      }),
    response: () =>
      z.array(
        z.object({
          state: z.string(),
          /** HTTP status code. */
          status: z.number(),
          html: z.string(),
        }),
      ),
  }),
  'GET /admin/pages/strings': adminEndpoint({
    id: 'exportPageStrings',
    summary: "List the texts of a team's tap pages",
    description:
      "By language and key; a team's own texts stand in place of the built-in ones. Texts that say what went wrong, whether a chip is genuine, or what cannot be undone are left out: they cannot be replaced.",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.object({ strings: z.record(z.string(), z.record(z.string(), z.string())) }),
  }),
  'PUT /admin/pages/strings': adminEndpoint({
    id: 'importPageStrings',
    summary: "Replace a team's own texts of tap pages",
    description:
      'By language and key. Texts that are absent, null, or as they are built in become the built-in ones. Placeholders have to be those of the built-in text; HTML is shown as text. If anything is wrong, nothing is changed.',
    scope: 'edit',
    body: () =>
      z.object({
        ...team,
        strings: z.record(z.string().max(40), z.record(z.string().max(100), z.string().max(5000).nullable())),
      }),
    /** Number of own texts. */
    response: () => z.object({ success: z.literal(true), own: z.number() }),
  }),
} as const
