package redistest

import "testing"

// Forgotten has a master die with what is written to it: its only replica, which is in step until then and takes over,
// has not heard of it.
func Forgotten(t testing.TB, master, replica *Server, write func()) {
	t.Helper()
	replica.Pause()
	if _, err := master.ask("CLIENT", "KILL", "TYPE", "replica"); err != nil { // else it would wait in the replica's socket
		t.Fatal(err)
	}
	write()
	master.Kill()
	replica.Resume()
}
