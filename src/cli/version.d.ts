/** Put in by the build; in tests "0.0.0-test". */
declare const __TAPCHIP_VERSION__: string
/** Put in by the build, empty without git; tests have none. */
declare const __TAPCHIP_COMMIT__: string | undefined
