export { complete } from './complete.ts'
export { completion as verb } from './script.ts'
