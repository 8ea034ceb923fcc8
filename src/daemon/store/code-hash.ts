import { hash } from 'node:crypto'

/**
 * What is stored of a ref, a code or a cookie: whoever reads the database or a backup of it finds none that is still
 * good. They are long and random, so a plain hash is enough.
 */
export const hashCode = (code: string): string => hash('sha256', code, 'base64url')
