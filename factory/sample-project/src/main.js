import { createNotebook } from "./server.js";

const port = Number(process.env.PORT ?? 3000);
createNotebook().listen(port, () => console.log(`plume: http://localhost:${port}`));
