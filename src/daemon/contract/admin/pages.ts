import * as z from 'zod'
import { pageLanguages } from '../../../values/page-languages.ts'
import { adminEndpoint } from '../endpoint.ts'
import { name, team, text } from '../fields.ts'

export const pages = {
  'GET /admin/pages/preview': adminEndpoint({
    id: 'previewPages',
    summary: 'Render the states of the tap page',
    description:
      "Every state that a person who taps can see, with sample data, the team's look, and an item's own data if one is named. No chip, no tap; the forms of these pages send nothing.",
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
} as const
