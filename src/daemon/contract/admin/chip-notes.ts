import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, success, timestamp, uid } from '../fields.ts'

const one = z.object({ uid })

const chipNote = () => z.object({ id: z.number(), at: timestamp, by: z.string(), text: z.string() })

export const chipNotes = {
  'GET /admin/chips/:uid/notes': adminEndpoint({
    id: 'listChipNotes',
    summary: "List the notes of a chip's story, newest first",
    scope: 'read',
    params: () => one,
    response: () => z.array(chipNote()),
  }),
  'POST /admin/chips/:uid/notes': adminEndpoint({
    id: 'addChipNote',
    summary: "Add a note to a chip's story, which everyone who taps it reads; a chip has up to 100",
    scope: 'edit',
    params: () => one,
    body: () => z.object({ text: name(500) }),
    response: chipNote,
  }),
  'DELETE /admin/chips/:uid/notes/:id': adminEndpoint({
    id: 'removeChipNote',
    summary: "Remove a note from a chip's story",
    scope: 'edit',
    params: () => one.extend({ id: integer(1) }),
    response: success,
  }),
} as const
