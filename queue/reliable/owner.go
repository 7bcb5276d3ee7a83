package reliable

import (
	"os"
	"strconv"
	"strings"
)

// Owner is the client that has a message.
type Owner struct {
	Client string // its id; empty: nobody has the message
	PID    int    // of its process
	Host   string // name of the machine, as the process knows it
}

// identityOf returns the text that a queue keeps of a client: its id, pid and host.
func identityOf(client string) string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return client + " " + strconv.Itoa(os.Getpid()) + " " + host
}

// ownerOf reads such a text.
func ownerOf(identity string) Owner {
	client, rest, _ := strings.Cut(identity, " ")
	pid, host, _ := strings.Cut(rest, " ")
	o := Owner{Client: client, Host: host}
	o.PID, _ = strconv.Atoi(pid)
	return o
}
