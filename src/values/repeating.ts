/** GETs of whose answer there is only one: after a cut connection, it may be lost. */
const singleUse: readonly string[] = ['GET /chips/find', 'GET /refs/:id', 'GET /phygitals/transfer-signature']

/** GETs that use something up, or hand out a signature. */
const changing: readonly string[] = [
  ...singleUse,
  // Gives the same signature again for the same code and recipient.
  'GET /phygitals/transfer-signature/pullable',
]

/** Before the path of a request that is only to be tried out. */
export const dryRunPrefix = '/dry-run'

/** @param key such as `GET /refs/:id` */
export const changesSomething = (key: string): boolean => !key.startsWith('GET ') || changing.includes(key)

/** A request that may be sent again whatever became of it. */
export const isHarmless = (key: string): boolean => key.startsWith('GET ') && !singleUse.includes(key)
