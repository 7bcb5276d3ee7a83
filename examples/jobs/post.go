package main

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// post is the post office, which is reached by HTTP.
type post struct {
	plain  bool
	server *http.Server
	url    string

	mu      sync.Mutex
	letters []int // of each order
	asked   int
}

func openPost(orders int, plain bool) (*post, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &post{plain: plain, url: "http://" + l.Addr().String(), letters: make([]int, orders)}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(l) }() // ends with close
	return p, nil
}

func (p *post) close() { _ = p.server.Close() }

// ServeHTTP takes a letter: /?order=3.
func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	order, err := strconv.Atoi(r.FormValue("order"))
	if err != nil || order < 0 || order >= len(p.letters) {
		http.Error(w, "no such order", http.StatusNotFound)
		return
	}
	p.send(order)
}

// send sends a letter, unless one was sent for that order: whoever brings it a second
// time has not heard of the first.
func (p *post) send(order int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.plain || p.letters[order] == 0 {
		p.letters[order]++
	}
}

// sent returns how many letters there were for each order, and how many the post was given.
func (p *post) sent() (letters []int, asked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(letters, p.letters...), p.asked
}
