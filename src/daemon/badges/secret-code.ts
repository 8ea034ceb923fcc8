import { randomInt } from 'node:crypto'

/**
 * The six digits with which an event's codes are asked for: all that stands between a stranger who knows the
 * event's id and its codes. From the system's random generator.
 */
export const newSecretCode = (): string => randomInt(1_000_000).toString().padStart(6, '0')

export const isSecretCode = (text: string): boolean => /^[0-9]{6}$/.test(text)
