--- The limits of fetching: they count time and connections, which only a server can show.

return {
  fetch_ms = { elsewhere = "spec/c/fetch_test.c" },
  fetches = { elsewhere = "spec/c/fetch_test.c" },
}
