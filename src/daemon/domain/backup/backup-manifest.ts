import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import * as z from 'zod'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'

const hex64 = z.string().regex(/^[0-9a-f]{64}$/)

/** Relative to the backup's folder. */
const inside = z
  .string()
  .max(500)
  .regex(/^[^/\\\0]+(\/[^/\\\0]+)*$/)
  .refine((path) => path.split('/').every((part) => part !== '.' && part !== '..'))

const manifest = z.object({
  format: z.literal('tapchip-backup'),
  version: z.literal(1),
  madeAt: z.iso.datetime(),
  schema: z.string().regex(/^\d{4}-[a-z0-9-]{1,100}$/),
  /** The hash of the audit log's last entry, which must still be in the log later; null: unknown. */
  auditHead: hex64.nullable(),
  /** SHA-256 by path, in hex. */
  files: z.record(inside, hex64),
  /** Distinguishes a different data key from a changed manifest. */
  keyCheck: z.string().max(200),
  /** HMAC with a key derived from the data key. */
  mac: z.string().max(100),
})
export type Manifest = z.output<typeof manifest>

const keyCheckContext = 'backup:keyCheck'

const macOf = (
  box: SecretBox,
  { madeAt, schema, auditHead, files, keyCheck }: Omit<Manifest, 'mac'>,
): string => {
  const sorted = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))
  return box.keyedHash(JSON.stringify([1, madeAt, schema, auditHead, keyCheck, sorted]), 'backup manifest')
}

export function manifestText(
  box: SecretBox,
  about: Pick<Manifest, 'madeAt' | 'schema' | 'auditHead' | 'files'>,
): string {
  const keyCheck = box.seal(Buffer.from('tapchip'), keyCheckContext).toString('base64')
  const unsigned = { format: 'tapchip-backup', version: 1, ...about, keyCheck } as const
  return `${JSON.stringify({ ...unsigned, mac: macOf(box, unsigned) }, null, 2)}\n`
}

/** @returns undefined if it is not a manifest */
export function parseManifest(text: string): Manifest | undefined {
  try {
    return manifest.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Verifies that the manifest was made with the data key. @returns the result, with the reason */
export function checkManifest(box: SecretBox, made: Manifest): 'authentic' | 'other key' | 'changed' {
  try {
    box.open(Buffer.from(made.keyCheck, 'base64'), keyCheckContext)
  } catch {
    return 'other key'
  }
  return macOf(box, made) === made.mac ? 'authentic' : 'changed'
}

/** SHA-256, in hex. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes)
  return hash.digest('hex')
}
