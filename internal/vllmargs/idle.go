package vllmargs

import "slices"

// Why flags have no influence here.
const (
	door     = "the HTTP server"
	words    = "what requests and answers look like"
	logs     = "logs and metrics"
	files    = "where weights and files come from"
	places   = "where processes run"
	kernels  = "kernels are not distinguished: efficiencies are of what was measured"
	sampling = "how tokens are chosen"
	startup  = "how the server starts"
	images   = "requests are text"
)

// vllmIdle are the flags of vLLM that no simulated number depends on, as of vLLM 0.11, unverified.
func vllmIdle() table {
	return slices.Concat(
		rows(one, idle(door), "--host --port --uds --root-path --api-key --ssl-keyfile --ssl-certfile --ssl-ca-certs "+
			"--ssl-cert-reqs --allowed-origins --allowed-methods --allowed-headers --middleware --api-server-count -asc "+
			"--h11-max-incomplete-event-size --h11-max-header-count"),
		rows(nothing, idle(door), "--disable-fastapi-docs --allow-credentials --enable-ssl-refresh "+
			"--disable-frontend-multiprocessing --headless --enable-server-load-tracking --enable-request-id-headers"),
		rows(several, idle(words), "--served-model-name"),
		rows(one, idle(words), "--chat-template --chat-template-content-format --response-role --tool-call-parser "+
			"--tool-parser-plugin --reasoning-parser --guided-decoding-backend --structured-outputs-config --tokenizer "+
			"--tokenizer-mode --tokenizer-revision --tokenizer-pool-size --tokenizer-pool-type --default-chat-template-kwargs "+
			"--tool-server --reasoning-parser-plugin"),
		rows(nothing, idle(words), "--enable-auto-tool-choice --enable-reasoning --return-tokens-as-token-ids "+
			"--enable-prompt-tokens-details --skip-tokenizer-init --enable-force-include-usage "+
			"--exclude-tools-when-tool-choice-none --trust-request-chat-template"),
		rows(nothing, idle(logs), "--disable-log-requests --enable-log-requests --disable-log-stats --enable-log-outputs "+
			"--disable-uvicorn-access-log --show-hidden-metrics-for-version --log-config-file --aggregate-engine-logging "+
			"--kv-cache-metrics --enable-mfu-metrics"),
		rows(one, idle(logs), "--uvicorn-log-level --max-log-len --otlp-traces-endpoint --collect-detailed-traces "+
			"--kv-events-config --observability-config --profiler-config --disable-access-log-for-endpoints"),
		rows(one, idle(files), "--download-dir --load-format --revision --code-revision --hf-token --hf-config-path "+
			"--model-loader-extra-config --ignore-patterns --config-format --model-impl --safetensors-load-strategy "+
			"--model-class-overrides"),
		rows(nothing, idle(files), "--trust-remote-code --use-tqdm-on-load --allow-deprecated-quantization"),
		rows(one, idle(places), "--distributed-executor-backend --device --worker-cls --worker-extension-cls "+
			"--max-parallel-loading-workers --data-parallel-size-local -dpl --data-parallel-address -dpa "+
			"--data-parallel-rpc-port -dpp --data-parallel-backend -dpb --data-parallel-start-rank -dpr --data-parallel-rank "+
			"-dpn --node-rank -r --master-addr --master-port --ray-workers-use-nsight"),
		rows(nothing, idle(places), "--data-parallel-hybrid-lb -dph --data-parallel-external-lb -dpe --worker-use-ray "+
			"--engine-use-ray --numa-bind"),
		rows(one, idle(kernels), "--attention-backend --attention-config --moe-backend --kernel-config "+
			"--block-allocator --mamba-cache-dtype --mamba-ssm-cache-dtype --mamba-block-size --mamba-cache-mode "+
			"--linear-backend --prefix-caching-hash-algo"),
		rows(nothing, idle(kernels), "--disable-cascade-attn --enable-flashinfer-autotune "+
			"--calculate-kv-scales --use-v2-block-manager --async-engine --cudagraph-metrics --disable-async-output-proc"),
		rows(one, idle(sampling), "--seed --max-logprobs --logits-processors --logits-processor-pattern "+
			"--generation-config --override-generation-config --logprobs-mode --guided-decoding-disable-fallback"),
		rows(several, idle(images), "--limit-mm-per-prompt --allowed-local-media-path"),
		rows(one, idle(images), "--mm-processor-kwargs --mm-processor-cache-gb --mm-encoder-tp-mode --media-io-kwargs "+
			"--mm-processor-cache-type --mm-encoder-attn-backend --video-pruning-rate"),
		rows(nothing, idle(images), "--disable-mm-preprocessor-cache --language-model-only --enable-mm-embeds "+
			"--interleave-mm-strings --skip-mm-profiling --disable-chunked-mm-input --enable-prompt-embeds"),
		rows(one, idle(startup), "--shutdown-timeout"), rows(nothing, idle(startup), "--enable-sleep-mode"),
	)
}

// sglangIdle are the flags of SGLang that no simulated number depends on, as of SGLang 0.5, unverified.
func sglangIdle() table {
	return slices.Concat(
		rows(one, idle(door), "--host --port --api-key --admin-api-key --fastapi-root-path --file-storage-path "+
			"--watchdog-timeout --soft-watchdog-timeout --tokenizer-worker-num --nccl-port --sleep-on-idle"),
		rows(nothing, idle(door), "--skip-server-warmup --enable-cache-report --grpc-mode"),
		rows(one, idle(words), "--served-model-name --chat-template --completion-template --tool-call-parser "+
			"--reasoning-parser --tokenizer-path --tokenizer-mode --grammar-backend --hf-chat-template-name "+
			"--constrained-json-whitespace-pattern --tool-server"),
		rows(nothing, idle(words), "--skip-tokenizer-init --stream-output --incremental-streaming-output "+
			"--constrained-json-disable-any-whitespace"),
		rows(one, idle(logs), "--log-level --log-level-http --log-requests-level --crash-dump-folder --decode-log-interval "+
			"--export-metrics-to-file-dir --kv-events-config --otlp-traces-endpoint"),
		rows(nothing, idle(logs), "--log-requests --enable-metrics --enable-request-time-stats-logging --show-time-cost "+
			"--enable-trace --enable-mfu-metrics --enable-metrics-for-all-schedulers"),
		rows(several, idle(logs), "--bucket-time-to-first-token --bucket-inter-token-latency --bucket-e2e-request-latency"),
		rows(one, idle(files), "--download-dir --load-format --revision --model-loader-extra-config "+
			"--weight-loader-disable-mmap --model-impl --remote-instance-weight-loader-seed-instance-ip "+
			"--quantization-param-path --modelopt-quant"),
		rows(nothing, idle(files), "--trust-remote-code --enable-memory-saver --delete-ckpt-after-loading"),
		rows(one, idle(places), "--dist-init-addr --nccl-init-addr --node-rank --dist-timeout --device --base-gpu-id "+
			"--gpu-id-step --numa-node --elastic-ep-backend"),
		rows(nothing, idle(places), "--enable-p2p-check --disable-outlines-disk-cache --use-ray"),
		rows(one, idle(kernels), "--attention-backend --prefill-attention-backend --decode-attention-backend "+
			"--sampling-backend --mm-attention-backend --moe-runner-backend --fp8-gemm-backend --fp4-gemm-backend "+
			"--nsa-prefill-backend --nsa-decode-backend --deepep-config --triton-attention-num-kv-splits "+
			"--flashinfer-mxfp4-moe-precision --linear-attn-backend --mamba-ssm-dtype --mamba-backend --torch-compile-max-bs "+
			"--flashinfer-mla-disable-ragged --mamba-scheduler-strategy"),
		rows(nothing, idle(kernels), "--enable-flashinfer-allreduce-fusion --enable-symm-mem "+
			"--enable-nccl-nvls --enable-mscclpp --disable-flashinfer-autotune --enable-flashinfer-trtllm-moe "+
			"--enable-flashinfer-cutlass-moe --disable-shared-experts-fusion --disable-cuda-graph-padding "+
			"--enable-piecewise-cuda-graph --disable-piecewise-cuda-graph --triton-attention-reduce-in-fp32 "+
			"--enable-fused-qk-norm-rope --enable-aiter-allreduce-fusion --enable-nan-detection "+
			"--enable-fused-moe-sum-all-reduce"),
		rows(one, idle(sampling), "--random-seed --sampling-defaults --preferred-sampling-params --max-logprobs"),
		rows(nothing, idle(sampling), "--enable-custom-logit-processor --enable-return-hidden-states "+
			"--enable-return-routed-experts"),
		rows(nothing, idle(images), "--enable-multimodal --keep-mm-feature-on-device --mm-enable-dp-encoder"),
		rows(one, idle(images), "--mm-max-concurrent-calls --mm-per-request-timeout --limit-mm-data-per-request"),
		rows(one, idle(startup), "--warmups"), rows(nothing, idle(startup), "--enable-weights-cpu-backup"),
	)
}

// tensorRTIdle are the flags of trtllm-serve that no simulated number depends on, as of TensorRT-LLM 1.0, unverified.
func tensorRTIdle() table {
	return slices.Concat(
		rows(one, idle(door), "--host --port --num-postprocess-workers --metadata-server-config-file"),
		rows(one, idle(words), "--tokenizer --custom-tokenizer --reasoning-parser --tool-parser --chat-template "+
			"--served-model-name --media-io-kwargs"),
		rows(one, idle(logs), "--log-level --otlp-traces-endpoint --perf-metrics-max-requests"),
		rows(nothing, idle(logs), "--print-iter-log --enable-iter-perf-stats --return-perf-metrics"),
		rows(one, idle(files), "--revision --checkpoint-format --custom-module-dirs"),
		rows(nothing, idle(files), "--trust-remote-code"),
		rows(one, idle(places), "--cluster-size --gpus-per-node --moe-cluster-parallel-size --disagg-cluster-uri"),
		rows(one, idle(kernels), "--backend --attn-backend --moe-config --allreduce-strategy --cuda-graph-config "+
			"--nvfp4-gemm-config"),
		rows(nothing, idle(kernels), "--use-low-precision-moe-combine --fail-fast-on-attention-window-too-large "+
			"--enable-autotuner"),
	)
}
