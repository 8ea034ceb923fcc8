import type { Kind } from './kind.ts'

export const kinds: readonly Kind[] = []
