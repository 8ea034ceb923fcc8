import { withoutInvisible } from './invisible.ts'

/** Hex without what spreadsheets and other tools write around it: `'0x00 11-22:33…`. */
export const bareHex = (text: string): string =>
  withoutInvisible(text)
    .trim()
    .replace(/^'/, '')
    .replace(/0x|[\s:"-]/gi, '')

export const isAesKey = (text: string): boolean => /^[0-9a-f]{32}$/i.test(bareHex(text))
export const notAnAesKey = 'must be an AES-128 key: 32 hex digits'
