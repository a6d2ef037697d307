declare module "virtual:lessons" {
  const lessons: import("./lesson").Lesson[];
  export default lessons;
}
