import type { Report } from './results.mjs'

export function plotsOf(report: Report): Record<string, string>
