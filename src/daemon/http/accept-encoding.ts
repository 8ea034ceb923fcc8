import type { FastifyRequest } from 'fastify'

/** @returns the first of `offered` that the client accepts; undefined: send the bytes as they are */
export function encodingOf<E extends string>(
  { headers }: Pick<FastifyRequest, 'headers'>,
  offered: readonly E[],
): E | undefined {
  if (headers['accept-encoding'] === undefined) return undefined
  const accepted = String(headers['accept-encoding'])
    .slice(0, 500)
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())
  const takes = (name: string) =>
    accepted.some((one) => {
      const [coding = '', quality = ''] = one.split(';').map((part) => part.trim())
      return coding === name && !/^q=0(\.0*)?$/.test(quality)
    })
  return offered.find(takes)
}
