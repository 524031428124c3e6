package metrics

// Streamed is what clients see of the requests that were followed token by token, where chunks hold tokens back, or an
// API server or a network takes more for one than for another: latency has only the constant part of that.
type Streamed struct {
	Requests int64     `json:"requests"` // completed ones, of the sample
	TTFT     Quantiles `json:"ttft_s"`
	ITL      Quantiles `json:"itl_s"` // tokens of a chunk come together
	ITLChunk Quantiles `json:"itl_chunk_s"`
	TPOT     Quantiles `json:"tpot_s"`
	E2E      Quantiles `json:"e2e_s"`
	Delay    Delay     `json:"streaming"`
}

// Delay is the mean time from when the engine emits a token until the client has it.
type Delay struct {
	MeanS     float64 `json:"mean_s"`
	ChunkS    float64 `json:"chunk_s"`    // of it, waiting for the last token of its chunk
	DeliveryS float64 `json:"delivery_s"` // API server and network
}
