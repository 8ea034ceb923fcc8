import type { Messages } from './messages.ts'

const tapAgain = 'Vuelve a acercar el teléfono al chip e inténtalo de nuevo.'

export const es: Messages = {
  genuine: 'Auténtico, escaneado ahora mismo',
  genuineEarlier: 'Auténtico, escaneado hace más de un minuto',
  genuineSince: {
    minutes: 'Auténtico, escaneado hace {count, plural, one {un minuto} other {# minutos}}',
    hours: 'Auténtico, escaneado hace {count, plural, one {una hora} other {# horas}}',
    days: 'Auténtico, escaneado hace {count, plural, one {un día} other {# días}}',
  },
  fallbackTitle: 'Este chip es auténtico',
  logo: 'Logotipo',
  pictureOf: '{name}, imagen {index}',
  videoOf: 'Vídeo de {name}',
  owner: 'Propietario',
  ownerUnknown: 'desconocido',
  ownerNobody: 'todavía nadie',
  ownerYou: '(tú)',
  edition: 'Edición',
  seal: 'Precinto',
  sealClosed: 'intacto',
  sealOpened: 'abierto, visto así por primera vez el {day, date}',
  readOn: 'Seguir leyendo',
  more: 'De esta pieza hay más que contar de lo que cabe en esta página.',
  moreData: 'Ver todos los datos',
  nothingToDo: 'Este escaneo demuestra que el chip es auténtico. Aquí no hay nada más que hacer.',
  links: 'Más',
  gallery: 'Imágenes',
  attributes: 'Detalles',
  technical: 'Datos técnicos',
  chip: 'Chip',
  contract: 'Contrato',
  tokenId: 'Token',
  network: 'Red',
  ownerAddress: 'Dirección del propietario',
  viewToken: 'Ver el token en el explorador',
  explorer: 'Ver la transacción en el explorador',
  transaction: 'Transacción {hash}',
  timeLeft: 'Tiempo restante: {time}. Si necesitas más, vuelve a acercar el teléfono al chip.',
  timeAtMost:
    'Tienes {time} desde que se cargó esta página. Si necesitas más, vuelve a acercar el teléfono al chip.',
  timeOver: 'Se acabó el tiempo. Vuelve a acercar el teléfono al chip.',
  duration: {
    seconds: '{count, plural, one {un segundo} other {# segundos}}',
    minutes: '{count, plural, one {un minuto} other {# minutos}}',
    hours: '{count, plural, one {una hora} other {# horas}}',
    days: '{count, plural, one {un día} other {# días}}',
  },
  recipient: 'Dirección de wallet o nombre ENS',
  recipientHint: '0x… o nombre.eth',
  recipientOrEmail: 'Wallet, nombre ENS o correo',
  recipientOrEmailHint: '0x…, nombre.eth o correo',
  step: 'Paso {number} de 2: {title}',
  whatIsWallet: '¿Qué es una wallet?',
  walletIs:
    'Una aplicación o un pequeño dispositivo para lo que tienes en una blockchain. Su dirección es 0x y 40 caracteres; un nombre como nombre.eth puede sustituirla.',
  titles: {
    register: 'Registrar una wallet',
    claim: 'Poner la pieza a mi nombre',
    badge: 'Obtener la insignia',
    guestbook: 'Firmar el libro de visitas',
  },
  closedTitles: {
    register: 'Registro',
    claim: 'Cambio de titular',
    badge: 'Insignia',
    guestbook: 'Libro de visitas',
  },
  explain: {
    register:
      'Indica qué wallet recibirá la pieza. Todavía no se transfiere nada: tras una espera de {wait}, vuelves a acercar el teléfono al chip y la pones a tu nombre.',
    claim: 'Indica tu wallet y el token de esta pieza se enviará allí. No te cuesta nada.',
    claimStep: 'El token de esta pieza se envía a la wallet que registraste.',
    claimLater:
      'Si registraste una wallet en un escaneo anterior, pon la pieza a tu nombre aquí. Si no, empieza por el paso 1.',
    claimFrom:
      'Si ahora es tuya, indica tu wallet: el token se enviará allí y {owner} lo pierde. No te cuesta nada.',
    claimOwn: 'Es tuya. Si debe estar en otra wallet, indícala: {owner} la pierde.',
    mint: 'Todavía no es de nadie. Indica tu wallet y el token de esta pieza se creará y se enviará allí. No te cuesta nada.',
    badge: 'Indica adónde enviar la insignia. No te cuesta nada.',
    guestbook: 'Indica tu wallet y el libro de visitas se firmará para ella. No te cuesta nada.',
  },
  buttons: {
    register: 'Registrar',
    claim: 'Poner a mi nombre',
    badge: 'Obtener',
    guestbook: 'Firmar',
    collect: 'Obtener',
  },
  collect: {
    title: 'Elige lo que quieres',
    explain: 'Indica tu wallet una sola vez: todo lo marcado se enviará allí. No te cuesta nada.',
    nothing: 'Marca lo que quieres y pulsa otra vez el botón.',
    partly: 'No todo ha funcionado. Arriba se dice por qué, y no se pierde nada.',
  },
  loadAgain: 'Vuelve a cargar esta página dentro de un momento para ver el resultado.',
  pending: {
    register: 'Registrando {to}…',
    claim: 'En camino a {to}.',
    badge: 'La insignia va en camino a {to}.',
    guestbook: 'Se está firmando el libro de visitas para {to}.',
  },
  usually: 'Suele tardar menos de un minuto. Puedes cerrar esta página: todo sigue adelante sin ella.',
  confirmed: {
    register: 'Registrada: {to}.',
    claim: 'Listo. Ahora está a nombre de {to}.',
    badge: 'Listo. La insignia ha llegado a {to}.',
    guestbook: 'Listo. El libro de visitas está firmado para {to}.',
  },
  somebody: 'la wallet indicada',
  registered: {
    anew: 'Con esto, la espera empieza de nuevo.',
    kept: 'Esta wallet ya estaba registrada: su espera sigue desde el {date}.',
    wait: 'El paso 2 se abre en {time}.',
    waitWords: {
      minutes: 'El paso 2 se abre en {count, plural, one {un minuto} other {unos # minutos}}.',
      hours: 'El paso 2 se abre en {count, plural, one {una hora} other {unas # horas}}.',
      days: 'El paso 2 se abre en {count, plural, one {un día} other {# días}}, el {date}.',
    },
    calendar: 'Añadir a tu calendario',
    thenTap:
      'Cuando pase ese tiempo, vuelve a acercar el teléfono al chip y pon la pieza a tu nombre en la página que se abra.',
    nowTap:
      'El tiempo de espera ha terminado. Vuelve a acercar el teléfono al chip y pon la pieza a tu nombre en la página que se abra.',
    until: 'El registro es válido durante {time}.',
    untilDays: 'El registro es válido durante {count, plural, one {un día} other {# días}}, hasta el {date}.',
    reload: 'Si esta página no cambia por sí sola, vuelve a cargarla entonces.',
    tooLate: 'El registro ha caducado. Vuelve a acercar el teléfono al chip y registra otra vez tu wallet.',
  },
  calendar: {
    summary: 'Ya puedes poner a tu nombre: {name}',
    description: 'Vuelve a acercar el teléfono al chip y pon la pieza a tu nombre en la página que se abra.',
  },
  closed: {
    future: 'Disponible a partir del {date}.',
    futureUndated: 'Todavía no está disponible.',
    over: 'Estuvo disponible hasta el {day, date}.',
    overUndated: 'Ya ha terminado.',
    'not-approved': 'No está disponible en este momento.',
    claimed: 'Alguien puso la pieza a su nombre después de este escaneo.',
    withdrawn:
      'El equipo ha retirado el registro. Vuelve a acercar el teléfono al chip para registrar otra vez tu wallet.',
    used: 'Este escaneo se usó en otro sitio, en una aplicación o en otra página. Vuelve a acercar el teléfono al chip para hacerlo aquí.',
    expired: 'El tiempo de este escaneo ha terminado. Vuelve a acercar el teléfono al chip.',
    kept: 'Alguien la guarda por correo hasta indicar una wallet. Mientras tanto, nadie más puede recibirla.',
    'kept-here': 'Está guardada con este escaneo, por correo.',
    'kept-given': 'Estaba guardada por correo y ya está en la wallet indicada.',
  },
  reserve: {
    title: '¿Aún no tienes wallet?',
    explain:
      'Podemos guardarla para ti hasta que tengas una. Recibirás un correo con seis cifras y después otro con un enlace.',
    shared:
      'Tiene un titular: quien acerque su teléfono al chip e indique una wallet antes que tú va primero.',
    email: 'Correo electrónico',
    emailHint: 'nombre@ejemplo.es',
    send: 'Guardar por correo',
    sent: 'Seis cifras van de camino a {email}. Valen diez minutos.',
    bounced: 'No se pudo entregar el correo a {email}. Revisa la dirección.',
    code: 'Las seis cifras del correo',
    keep: 'Guardar para mí',
    tries: '{count, plural, one {Queda un intento.} other {Quedan # intentos.}}',
    again: 'Otra dirección u otro correo',
    resend: 'Enviar otro correo',
    kept: 'Guardada para ti hasta el {day, date}. Recibirás un enlace por correo: ábrelo cuando tengas una wallet.',
    keptBounced:
      'Guardada para ti hasta el {day, date}, pero no se pudo entregar el correo con el enlace. Vuelve a acercar el teléfono al chip más tarde y pídelo otra vez.',
    elsewhereTitle: '¿Está guardada para ti?',
    elsewhere: 'Escribe tu correo electrónico para recibir otro enlace. El anterior deja entonces de valer.',
    link: 'Enviar otro enlace',
    linkSent: 'Si está guardada para esta dirección, un correo con otro enlace va de camino.',
    invalid: 'No es una dirección de correo. Revisa si hay errores.',
    often: 'Se han pedido demasiados correos.',
  },
  kept: {
    state: 'Guardada para ti hasta el {day, date}',
    explain: 'Indica tu wallet y todo lo que está guardado para ti se envía allí. No te cuesta nada.',
    secret: 'Quien tenga este enlace puede hacerlo: no lo compartas.',
    button: 'Enviar a esta wallet',
    ended: {
      title: 'Ya no está guardada para ti',
      advice:
        'El plazo terminó, tiene otro titular, o el equipo la ha liberado. Vuelve a acercar el teléfono al chip.',
    },
    unknown: {
      title: 'Este enlace ya no vale',
      advice:
        'Quizá un correo más reciente tenga otro enlace. Si no, vuelve a acercar el teléfono al chip y pide uno.',
    },
  },
  mail: {
    codeSubject: '{code} es tu código para {piece}',
    code: 'Escribe estas seis cifras en la página que se abrió junto al chip. Valen diez minutos.',
    linkSubject: 'Guardado para ti: {piece}',
    link: 'Está guardado para ti hasta el {day, date}. Cuando tengas una wallet, abre este enlace e indica su dirección:',
    secret: 'Quien tenga este enlace puede usarlo para su propia wallet: no lo compartas. Vale una sola vez.',
    forget:
      'Tu dirección queda cifrada, se usa solo para esto y se olvida cuando indicas una wallet o termina el plazo.',
    notYou: 'Si no has sido tú, no tienes que hacer nada.',
  },
  check: {
    claim: 'Al pulsar «{button}», la pieza queda a nombre de {to}. No se puede deshacer.',
    mint: 'Al pulsar «{button}», el token se crea y se envía a {to}. No se puede deshacer.',
    register: 'Al pulsar «{button}», {to} queda para el paso 2 y la espera empieza de nuevo: {wait}.',
    registerKept:
      'Al pulsar «{button}», {to} queda como está: su espera sigue y el paso 2 se abre el {date}.',
    registerOpen: '{to} ya está registrada y su espera ha terminado: continúa con el paso 2.',
    badge: 'Al pulsar «{button}», la insignia se envía a {to}.',
    guestbook: 'Al pulsar «{button}», el libro de visitas se firma para {to}.',
    collect: 'Al pulsar «{button}», todo lo marcado se envía a {to}.',
    collectClaim:
      'Al pulsar «{button}», todo lo marcado se envía a {to}. Poner la pieza a un nombre no se puede deshacer.',
    thisEmail: 'esta dirección de correo',
  },
  script: {
    genuineAgo: 'Auténtico, escaneado {time}',
    sending: 'Enviando…',
    offline: 'No se puede conectar con el servicio. Lo que escribiste sigue aquí: inténtalo en un momento.',
    failed: 'No se pudo leer la respuesta. Lo que escribiste sigue aquí: inténtalo de nuevo.',
    busy: 'Ahora mismo no es posible. Espera un poco e inténtalo de nuevo.',
    unknown:
      'Puede que haya funcionado, o no. Vuelve a cargar esta página dentro de un momento para ver el resultado.',
    wallet: 'Rellenar con la wallet de este navegador',
    walletShort: 'Wallet',
    walletNamed: 'Rellenar con {name}',
    walletAsked: 'Se ha pedido una dirección a la wallet. Busca su ventana.',
    walletRefused: 'La wallet no ha dado ninguna dirección. Puedes escribir una.',
    walletFailed: 'La wallet no responde. Puedes escribir una dirección.',
  },
  failures: {
    otherwise: `No ha funcionado. No se ha gastado nada. ${tapAgain}`,
    otp_used: `Este escaneo ya se usó para esto, en otra página o en una aplicación. ${tapAgain}`,
    otp_expired: `El tiempo de este escaneo ha terminado. ${tapAgain}`,
    otp_missing: `Esta página ha perdido su escaneo. ${tapAgain}`,
    otp_unknown: `Este escaneo ya no es válido. ${tapAgain}`,
    otp_deleted: `El equipo ha retirado esta oferta. ${tapAgain}`,
    otp_unsupported: 'Con este chip no es posible.',
    recipient_invalid:
      'No lo reconocemos. Comprueba si hay alguna errata: una dirección es 0x y 40 caracteres; un nombre es como nombre.eth.',
    invalid_input:
      'Hay algo incorrecto en el formulario. Escribe una dirección de wallet (0x y 40 caracteres) o un nombre como nombre.eth.',
    chain_unavailable: 'La blockchain no responde en este momento. No se ha gastado nada.',
    chain_not_configured:
      'Aquí no se pueden buscar nombres. Escribe la propia dirección de la wallet: 0x y 40 caracteres.',
    registration_missing: 'Esta wallet aún no está registrada. Empieza por el paso 1.',
    registration_early: 'El tiempo de espera aún no ha terminado. No se ha gastado nada.',
    registration_expired:
      'El registro ha caducado. Vuelve a acercar el teléfono al chip y registra otra vez tu wallet.',
    registration_same_tap:
      'Este paso necesita otro escaneo. Vuelve a acercar el teléfono al chip y continúa en la página que se abra.',
    token_taken:
      'Otra persona hizo lo mismo en el mismo instante. No se ha gastado nada: inténtalo de nuevo.',
    transaction_refused:
      'La transacción se rechazó antes de enviarse. Pregunta al equipo que te dio la pieza.',
    simulation_reverted:
      'El contrato de esta pieza lo rechazaría. No se ha enviado ni gastado nada. Comprueba la wallet o pregunta al equipo que te dio la pieza.',
    reverted:
      'El contrato rechazó la transacción. Vuelve a acercar el teléfono al chip e inténtalo de nuevo; si no sirve, pregunta al equipo que te dio la pieza.',
    transaction_budget_spent:
      'El presupuesto del equipo para hoy se ha agotado. No pierdes nada: vuelve a acercar el teléfono al chip mañana.',
    cancelled: `La operación se abandonó y no tuvo efecto. ${tapAgain}`,
    conflict:
      'Ahora mismo no es posible. No se ha gastado nada. Inténtalo más tarde; si no sirve, pregunta al equipo que te dio la pieza.',
    idempotency_conflict:
      'Lo que escribiste llegó tarde: en otra página de este escaneo se indicó otra wallet, y es la que cuenta.',
    rate_limited: 'Demasiados intentos en poco tiempo. No se ha gastado nada.',
    badge_not_active: 'Esta insignia no está disponible ahora.',
    badge_codes_gone: 'Ya se han entregado todas las insignias de este evento.',
    badge_device_used: 'Con este teléfono ya se obtuvo una insignia de este evento.',
    badge_refused:
      'La insignia no se ha entregado: es probable que esta wallet ya la tenga. Prueba con otra.',
    badge_unavailable: 'El servicio de insignias no responde en este momento. No se ha gastado nada.',
    store_unavailable: 'Este servicio está saturado en este momento. No se ha gastado nada.',
    store_full: 'Este servicio se ha quedado sin espacio. No se ha gastado nada.',
    outcome_unknown: `Este servicio se interrumpió; puede que haya funcionado, o no. ${tapAgain}`,
    too_slow: 'La conexión era demasiado lenta. No se ha gastado nada. Inténtalo de nuevo.',
    claim_kept: 'Alguien guarda esta pieza por correo. No se ha gastado nada.',
    mail_code_wrong: 'No son las seis cifras del último correo.',
    mail_code_over:
      'Estas cifras ya no valen. No se ha gastado nada. Acerca de nuevo tu teléfono al chip para recibir otras.',
    not_found: `Esto ya no está disponible. ${tapAgain}`,
  },
  mistyped: {
    unknownName:
      'No hay ninguna wallet con este nombre. Revisa cómo está escrito o escribe la propia dirección.',
    wrongAddress: 'Hay un error en esta dirección. Vuelve a copiarla.',
    otherChain:
      'La parte anterior a los dos puntos es de otra blockchain, no de la de esta pieza. Escribe tu dirección en la de la pieza, sin esa parte.',
    wrongLength: 'Una dirección de wallet es 0x y 40 caracteres; esta tiene {count}.',
    badge:
      'No lo reconocemos. Comprueba si hay alguna errata: una dirección es 0x y 40 caracteres; un nombre es como nombre.eth. También vale un correo electrónico.',
  },
  tryAgainIn: {
    seconds: 'Inténtalo de nuevo en {count, plural, one {# segundo} other {unos # segundos}}.',
    minutes: 'Inténtalo de nuevo en {count, plural, one {un minuto} other {unos # minutos}}.',
    hours: 'Inténtalo de nuevo en {count, plural, one {una hora} other {unas # horas}}.',
  },
  moment: { certificate: 'Certificado', date: 'Fecha', day: '{day, date}', print: 'Imprimir' },
  problem: 'Problema: {title}',
  refused: 'No aceptado',
  refusals: {
    replayed: {
      title: 'Este escaneo ya se usó',
      advice:
        'Cada escaneo da un enlace que sirve una sola vez. Vuelve a acercar el teléfono al chip para tener otro.',
    },
    expired: {
      title: 'El tiempo de este escaneo ha terminado',
      advice: 'Un escaneo vale solo por poco tiempo. Vuelve a acercar el teléfono al chip para tener otro.',
    },
    'caught-up': {
      title: 'Vuelve a acercar el teléfono al chip, por favor',
      advice:
        'Necesitamos ver este chip una vez más antes de que funcione. Después se abrirá la página correcta.',
    },
    unknown: {
      title: 'Este enlace no es de ningún chip',
      advice:
        'Puede que el enlace haya cambiado por el camino o que el chip no sea auténtico. Vuelve a acercar el teléfono al chip y abre el enlace que aparezca.',
    },
    unfilled: {
      title: 'Este chip no está configurado',
      advice:
        'El enlace no contiene nada propio del chip, así que no se puede saber si es auténtico. Vuelve a acercar el teléfono al chip; si esta página aparece otra vez, avisa a quien te lo dio.',
    },
    malformed: {
      title: 'Este enlace está incompleto',
      advice: 'Falta una parte. Vuelve a acercar el teléfono al chip y abre el enlace que aparezca.',
    },
    disabled: {
      title: 'Este chip está desactivado',
      advice:
        'El equipo del que procede lo ha desactivado, así que volver a acercarle el teléfono no sirve. Si es tuyo, contacta con quien te lo dio.',
    },
  },
  printed: {
    title: 'Acerca el teléfono al chip',
    advice:
      'Esta dirección está impresa en una etiqueta y no dice nada de la pieza: las etiquetas se pueden copiar. El chip, no. Acércale el teléfono y abre el enlace que aparezca.',
  },
  home: {
    title: 'Acerca el teléfono a un chip',
    advice:
      'Esta dirección por sí sola no muestra nada. Acerca el teléfono a un chip y abre el enlace que aparezca.',
  },
  sections: { care: 'Cuidado', material: 'Material', repair: 'Reparación' },
  story: {
    title: 'Su historia',
    day: '{day, date}',
    setup: 'Se configuró el chip.',
    minted: 'Se creó el token.',
    claimed: 'La pieza pasó a otra persona.',
    badge: 'Se obtuvo una insignia: {name}',
    guestbook: 'Se firmó el libro de visitas: {name}',
    seal: 'El precinto se vio abierto por primera vez.',
  },
  publicPage: {
    fallbackTitle: 'Una pieza con chip',
    since: 'desde el {day, date}',
    open: 'Ver la pieza',
    share: 'Compartir',
    shareCopied: 'Enlace copiado.',
    shareFailed: 'No se pudo copiar el enlace. Está en la barra de direcciones.',
    about:
      'Esta página habla de la pieza y no demuestra nada. Solo un teléfono acercado al chip muestra que la pieza es auténtica.',
  },
  notFound: 'No encontrado',
  notNow: 'Ahora no',
  unable: {
    busy: {
      title: 'Demasiadas peticiones a la vez',
      advice: 'Han llegado muchas peticiones desde tu red. Espera aquí: esta página se vuelve a cargar sola.',
    },
    often: {
      title: 'Demasiados intentos',
      advice: 'Esta página se ha usado muchas veces en un minuto. Vuelve a ella.',
    },
    away: {
      title: 'Ahora no se puede comprobar',
      advice: 'Tu escaneo no se ha gastado: puedes volver a cargar esta página.',
    },
    starting: {
      title: 'Un momento, por favor',
      advice:
        'Este servicio se está iniciando. Tu escaneo no se ha gastado: puedes volver a cargar esta página.',
    },
    interrupted: {
      title: 'Puede que haya funcionado, o no',
      advice: 'Este servicio se interrumpió. Vuelve a acercar el teléfono al chip para ver el resultado.',
    },
    missing: {
      title: 'Aquí no hay nada',
      advice: 'Puede que la dirección haya cambiado por el camino. Vuelve a acercar el teléfono al chip.',
    },
    malformed: {
      title: 'Este enlace no se puede leer',
      advice: 'Una parte está dañada. Vuelve a acercar el teléfono al chip y abre el enlace que aparezca.',
    },
    wrong: {
      title: 'Algo ha ido mal',
      advice:
        'Vuelve a acercar el teléfono al chip. Si sigue ocurriendo, contacta con la persona que te lo dio.',
    },
  },
}
