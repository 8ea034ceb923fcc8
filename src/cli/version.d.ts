/** Put in by the build; in tests "0.0.0-test". */
declare const __TAPCHIP_VERSION__: string
