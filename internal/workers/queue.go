package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	jobsBucket = "decodesim_jobs"
	consumer   = "workers"

	// Lease is how long a run is a worker's after it was last heard of. A worker is heard of three times as often.
	Lease = 30 * time.Second

	// deliveriesMax is how often a run is given to a worker. One that has ended so many of them ends the next as well.
	deliveriesMax = 10

	// window is how many runs are in the queue at once, so that neither it nor the coordinator grows with the job.
	window = 1024
)

// acknowledgedWithin is how long a server may take to say that it has a run.
const acknowledgedWithin = 10 * time.Second

// Queue is a connection to the server of a queue.
type Queue struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	lease    time.Duration
	replicas int
	chosen   bool // replicas, by how many servers there seem to be

	Say func(format string, values ...any) // lines for people
}

// Own returns the queue of an embedded server.
func (s *Server) Own() (*Queue, error) {
	c, err := s.connect("coordinator")
	if err != nil {
		return nil, err
	}
	return newQueue(c, 1)
}

// copiesUsual is how many copies of a queue a cluster has that has as many servers: it may lose one of them.
const copiesUsual = 3

// Open returns the queue of a cluster, in which each stream has so many copies; 0: the usual number, if there are as
// many servers.
func (a *Address) Open(replicas int) (*Queue, error) {
	c, err := a.connect("coordinator")
	if err != nil {
		return nil, err
	}
	chosen := replicas == 0
	if chosen {
		replicas = 1
		if len(c.Servers()) >= copiesUsual { // any of them knows the others
			replicas = copiesUsual
		}
	}
	q, err := newQueue(c, replicas)
	if err == nil {
		q.chosen = chosen
	}
	return q, err
}

func newQueue(c *nats.Conn, replicas int) (*Queue, error) {
	js, err := jetstream.New(c, jetstream.WithPublishAsyncTimeout(acknowledgedWithin))
	if err != nil {
		return nil, err
	}
	return &Queue{conn: c, js: js, lease: Lease, replicas: replicas, Say: func(string, ...any) {}}, nil
}

// Close closes the connection.
func (q *Queue) Close() { q.conn.Close() }

// streamOf names the stream of the runs of a job, and its buckets.
func streamOf(id string) string { return "decodesim_" + id }

func subjectOf(id string, run int) string { return "decodesim." + id + "." + strconv.Itoa(run) }

// runOf returns the number at the end of a subject or in a key.
func runOf(name string) (int, error) {
	run, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	if err != nil || run < 0 {
		return 0, fmt.Errorf("%q is no run", name)
	}
	return run, nil
}

// places are where a job is in a queue.
type places struct {
	jobs    jetstream.KeyValue
	results jetstream.KeyValue
	objects jetstream.ObjectStore // the files of the job, and results that are too long for a message
	runs    jetstream.Stream
}

// create makes the streams of a job, or finds those that a coordinator before has made. Servers that do not have
// JetStream, or that are one under two names, are found out here.
func (q *Queue) create(ctx context.Context, j *Job) (p places, err error) {
	err = patiently(ctx, func() (err error) {
		p, err = q.made(ctx, j)
		if q.chosen && q.replicas > 1 && lacksPeers(err) {
			q.Say("the queue has 1 copy and not %d, for which its servers are too few (%v): what is in it is lost with its "+
				"server; --queue-replicas says how many there are to be", q.replicas, err)
			q.replicas = 1
			p, err = q.made(ctx, j)
		}
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return notTheQueue{err}
		}
		return err
	})
	return p, err
}

// Codes of a server that has too few others beside it.
const notClustered, noPeers, insufficient = 10074, 10005, 10023

// lacksPeers reports whether there are too few servers for the copies of a stream.
func lacksPeers(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		slices.Contains([]jetstream.ErrorCode{notClustered, noPeers, insufficient}, api.ErrorCode)
}

func (q *Queue) made(ctx context.Context, j *Job) (p places, err error) {
	name := streamOf(j.ID)
	p.jobs, err = q.bucket(ctx, jobsBucket)
	if err != nil {
		return p, err
	}
	p.results, err = q.bucket(ctx, name)
	if err != nil {
		return p, err
	}
	p.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: q.replicas})
	if err != nil {
		return p, err
	}
	p.runs, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{"decodesim." + j.ID + ".*"}, Storage: jetstream.FileStorage, Replicas: q.replicas,
		Retention: jetstream.WorkQueuePolicy, // a run that is acknowledged is gone
		// A run that is in the queue is not put into it again.
		Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true,
	})
	if err != nil {
		return p, err
	}
	_, err = p.runs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.lease, MaxDeliver: -1,
		MaxAckPending: window, MaxWaiting: 10_000,
	})
	return p, err
}

// bucket makes a bucket unless it is there.
func (q *Queue) bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	return q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, Replicas: q.replicas})
}

// find returns the places of a job that a coordinator has made.
func (q *Queue) find(ctx context.Context, id string) (p places, err error) {
	name := streamOf(id)
	p.results, err = q.js.KeyValue(ctx, name)
	if err != nil {
		return p, err
	}
	p.objects, err = q.js.ObjectStore(ctx, name)
	if err != nil {
		return p, err
	}
	p.runs, err = q.js.Stream(ctx, name)
	return p, err
}

// remove removes a job that has ended.
func (q *Queue) remove(ctx context.Context, j *Job, p places) error {
	name := streamOf(j.ID)
	for _, remove := range []func() error{
		func() error { return p.jobs.Delete(ctx, j.ID) }, func() error { return q.js.DeleteStream(ctx, name) },
		func() error { return q.js.DeleteKeyValue(ctx, name) }, func() error { return q.js.DeleteObjectStore(ctx, name) },
	} {
		err := patiently(ctx, func() error {
			err := remove()
			if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
				return nil // an attempt before was heard after all
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// announce lets workers find a job, whose files are in the queue by then.
func (p *places) announce(ctx context.Context, j *Job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return patiently(ctx, func() error {
		if err := j.upload(ctx, p.objects); err != nil {
			return err
		}
		_, err := p.jobs.Put(ctx, j.ID, text)
		return err
	})
}
