// Refs and OTP codes are 21 characters of A-Z a-z 0-9 _ -, so one in 64 begins with a dash, and looks like a flag.
const dashedCode = /^-[A-Za-z0-9_-]{20}$/
const nouns = new Set(['refs', 'otps'])

/** Puts codes that begin with a dash behind `--`, where they are taken for what they are. */
export const setCodesApart = (args: readonly string[]): readonly string[] => {
  if (!args.some((arg) => nouns.has(arg)) || args.includes('--')) return args
  const codes = args.filter((arg) => dashedCode.test(arg))
  return codes.length === 0 ? args : [...args.filter((arg) => !dashedCode.test(arg)), '--', ...codes]
}
